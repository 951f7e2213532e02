"""`make vendor`: the libraries of the page, each as one file in the package, with their licences and checksums.

Knows the packages that scripts/vendor locks and where their licences are; knows nothing of what the page does with them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from scripts import environment, outsiders, widths

VENDOR = environment.ROOT / "src" / "lamplighter" / "frontends" / "web" / "static" / "vendor"
SOURCE = outsiders.LIBRARIES.folder


def main() -> None:
    """Make all of it again: the same lock gives the same bytes."""
    outsiders.ready(outsiders.LIBRARIES)
    widths.main()
    VENDOR.mkdir(parents=True, exist_ok=True)
    made = _build()
    packages = sorted({name for names in made.values() for name in names})
    (VENDOR / "LICENSES.txt").write_text("\n\n".join(_licence(name) for name in packages))
    described = {
        "packages": [_package(name) for name in packages],
        "files": {name: {"packages": made.get(name, packages), "sha256": _digest(VENDOR / name)} for name in _files()},
    }
    (VENDOR / "vendor.json").write_text(json.dumps(described, indent=2) + "\n")
    print(f"{len(packages)} packages in {VENDOR.relative_to(environment.ROOT)}")


def _build() -> dict[str, list[str]]:
    """Which packages are in which file."""
    command = [str(outsiders.node()), str(SOURCE / "build.mjs"), str(VENDOR)]
    done = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def _files() -> list[str]:
    return sorted(path.name for path in VENDOR.iterdir() if path.name != "vendor.json")


def _package(name: str) -> dict[str, str]:
    described: dict[str, Any] = json.loads((outsiders.LIBRARIES.modules / name / "package.json").read_text())
    return {"name": name, "version": described["version"], "licence": described["license"]}


def _licence(name: str) -> str:
    package = _package(name)
    title = f"{name} {package['version']} ({package['licence']})"
    text = (outsiders.LIBRARIES.modules / name / "LICENSE").read_text().strip()
    return f"{title}\n{'=' * len(title)}\n\n{text}\n"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
