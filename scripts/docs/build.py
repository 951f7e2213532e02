"""`make docs`: the documentation site in build/docs, which works from the file system and asks no other host for anything.

Knows Sphinx's command line, and the environment that it has for itself: neither users nor the tests need it.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from scripts import environment, outsiders
from scripts.docs import sources

LOCK = environment.ROOT / "requirements" / "docs.lock"
BUILD = environment.ROOT / "build"
SITE = BUILD / "docs"
WORK = BUILD / "docs-work"
PYTHON = WORK / "environment" / "bin" / "python"
STAMP = WORK / "environment" / "lamplighter-stamp"
MERMAID = outsiders.PICTURES.modules / "@mermaid-js" / "tiny"


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time; the kernel drops it with the process
        _ready()
        outsiders.ready(outsiders.PICTURES)
        sources.copy(environment.ROOT, WORK / "source")
        _build()
    print(f"{SITE.relative_to(environment.ROOT)}/index.html")


def _ready() -> None:
    """Make the environment if it is missing or was made from another lock or Python."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor} {hashlib.sha256(LOCK.read_bytes()).hexdigest()}\n"
    if STAMP.exists() and PYTHON.exists() and STAMP.read_text() == wanted:
        return
    print(f"Making the site's environment from {LOCK.relative_to(environment.ROOT)} …", flush=True)
    _run(sys.executable, "-m", "venv", "--clear", str(PYTHON.parents[1]))
    _run(str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--require-hashes", "--requirement", str(LOCK))
    STAMP.write_text(wanted)


def _build() -> None:
    """All of it anew; a warning, as of a reference that leads nowhere, is an error."""
    shutil.rmtree(SITE, ignore_errors=True)
    own = ["--conf-dir", str(Path(__file__).parent), "--doctree-dir", str(WORK / "doctrees")]
    strict = ["--fail-on-warning", "--nitpicky", "--fresh-env", "--quiet"]
    _run(str(PYTHON), "-m", "sphinx", "--builder", "html", *strict, *own, str(WORK / "source"), str(SITE))
    for name, source in {"mermaid.js": "dist/mermaid.tiny.js", "mermaid.LICENSE.txt": "LICENSE"}.items():
        shutil.copyfile(MERMAID / source, SITE / "_static" / name)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, cwd=environment.ROOT, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        sys.exit(f"Could not make the site: `{' '.join(command)}` ended with {error.returncode}.")


if __name__ == "__main__":
    main()
