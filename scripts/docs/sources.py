"""What Sphinx is given: copies of the pages, which stay readable on a code host because nothing of the site is in them.

The README becomes the index and gets the navigation; Mermaid's blocks become elements that its script draws. All paths stay as
they are, and with them the links.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

from scripts.docs.navigation import HOME, NAVIGATION, PAGES, Page

MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TO_HOME = re.compile(rf"(?<=\]\()((?:\.\./)?){re.escape(HOME)}(?=[)#])")


def copy(root: Path, target: Path) -> None:
    """Make the folder anew, so that a page that went is not built."""
    shutil.rmtree(target, ignore_errors=True)
    for path, _ in PAGES:
        text = _adapted((root / path).read_text())
        written = target / ("index.md" if path == HOME else path)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(f"{text}\n{_navigation()}" if path == HOME else text)
    shutil.copytree(root / "docs" / "images", target / "docs" / "images")


def _adapted(text: str) -> str:
    return TO_HOME.sub(r"\1index.md", MERMAID.sub(_picture, text))


def _picture(block: re.Match[str]) -> str:
    return f'<pre class="mermaid">\n{html.escape(block[1])}</pre>'


def _navigation() -> str:
    return "\n".join(_toctree(caption, pages) for caption, pages in NAVIGATION.items())


def _toctree(caption: str, pages: tuple[Page, ...]) -> str:
    entries = [f"{title} <{'self' if path == HOME else path.removesuffix('.md')}>" for path, title in pages]
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])
