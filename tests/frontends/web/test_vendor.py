"""The page's libraries: the bytes that `make vendor` made; nothing fetched from outside, nothing that the policy forbids."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT

VENDOR = Path(str(files("lamplighter"))) / "frontends" / "web" / "static" / "vendor"
DESCRIBED: dict[str, Any] = json.loads((VENDOR / "vendor.json").read_text())
SCRIPTS = ("preact.js", "xterm.js")
NAMES_NOT_PLACES = {
    "http://www.w3.org/1998/Math/MathML",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
}
"""Namespaces of XML: they look like addresses, and nobody goes there."""


def test_the_bytes_are_the_ones_described() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del found["vendor.json"]
    assert found == {name: file["sha256"] for name, file in DESCRIBED["files"].items()}


def test_the_versions_are_the_locked_ones() -> None:
    locked = json.loads((ROOT / "scripts" / "vendor" / "package-lock.json").read_text())["packages"]
    for package in DESCRIBED["packages"]:
        assert package["version"] == locked[f"node_modules/{package['name']}"]["version"], package


def test_each_package_has_its_licence() -> None:
    texts = (VENDOR / "LICENSES.txt").read_text()
    for package in DESCRIBED["packages"]:
        assert package["licence"] in ("MIT", "Apache-2.0")
        assert f"{package['name']} {package['version']} ({package['licence']})\n====" in texts


@pytest.mark.parametrize("name", [*SCRIPTS, "xterm.css"])
def test_nothing_comes_from_outside(name: str) -> None:
    text = (VENDOR / name).read_text()
    assert "sourceMappingURL" not in text
    assert set(re.findall(r"(?:https?:|wss?:)//[^\"'`\s)]*", text)) <= NAMES_NOT_PLACES
    assert not re.findall(r"@import|url\(", text if name.endswith(".css") else "")


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_fetches_or_makes_code(name: str) -> None:
    text = (VENDOR / name).read_text()
    ways = r"\b(?:eval|Function|fetch|import|importScripts|XMLHttpRequest|EventSource|WebSocket|sendBeacon|Worker)\("
    assert not re.findall(ways, text)
    assert not re.findall(r"^import\b|\bfrom ?\"", text)


def test_no_inline_style_is_written() -> None:
    """The page's policy forbids it; what did is rewritten when the file is made."""
    for name in SCRIPTS:
        assert not re.findall(r"createElement\(\"style\"\)|setAttribute\(\"style\"", (VENDOR / name).read_text())
