"""ARCHITECTURE.md is a map: each path in it exists, and each package is on it."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

SOURCE = ROOT / "src" / "lamplighter"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
FILES = sorted(set(re.findall(r"`([\w/]+\.(?:py|json|toml))`", TEXT)))
WRITTEN_AT_RUN_TIME = {"launch.json", "birth.json", "exit.json", "trail.json", "session.json"}
PACKAGES = sorted(
    str(found.parent.relative_to(SOURCE)) for found in SOURCE.rglob("__init__.py") if found.parent != SOURCE
)


@pytest.mark.parametrize("path", [file for file in FILES if file not in WRITTEN_AT_RUN_TIME])
def test_each_file_that_is_named_exists(path: str) -> None:
    """From the sources' root or the project's; a name alone must be that of one module."""
    if (ROOT / path).exists() or (SOURCE / path).exists():
        return
    assert "/" not in path, "there is no such file"
    assert len(list(SOURCE.rglob(path))) == 1, "a name without folders must be that of exactly one module"


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_is_on_the_map(package: str) -> None:
    above = [package.rsplit("/", depth)[0] for depth in range(1, package.count("/") + 1)]
    rows = [line for line in TEXT.splitlines() if any(line.startswith(f"| `{folder}/`") for folder in above)]
    named = f"`{package.rpartition('/')[2]}/`"
    assert f"| `{package}/" in TEXT or any(named in row for row in rows), "no row of the map has it"
