"""Sphinx's settings. It is given the copies that sources.py makes."""

from __future__ import annotations

import re
from pathlib import Path

_PACKAGE = Path(__file__).parents[2] / "src" / "lamplighter" / "__init__.py"
_VERSION = re.search(r'^__version__ = "(.+)"$', _PACKAGE.read_text(), re.MULTILINE)
assert _VERSION is not None

project = "Lamplighter"
release = _VERSION[1]
extensions = ["myst_parser"]
myst_enable_extensions = ["html_image"]  # an <img> is a picture of the site too
smartquotes = False  # two hyphens are an option here, and no dash
highlight_language = "text"

# Headings have the anchors that they have on a code host, so that a link works in both.
myst_heading_anchors = 6
myst_heading_slug_func = "github"

html_theme = "furo"
html_title = f"Lamplighter {release}"
html_static_path = ["pictures.js", "search.js", "site.css"]
html_css_files = ["site.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("pictures.js", "search.js")]
html_copy_source = False
html_show_copyright = False
html_use_index = False
