"""The page's own scripts, as text: a formatter leaves markup in templates alone, so its lines are measured here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lamplighter.frontends import web

SCRIPTS = Path(web.__file__).parent / "static" / "js"
LONGEST = 130


def test_no_line_is_too_long_to_be_read() -> None:
    assert list(_long_lines()) == []


def _long_lines() -> Iterator[str]:
    for path in sorted(SCRIPTS.rglob("*.js")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > LONGEST:
                yield f"{path.relative_to(SCRIPTS)}:{number}: {len(line)} columns"
