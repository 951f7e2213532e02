"""The link to the page, and the end of its logins."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.counting import counted
from lamplighter.frontends.cli.blocks import Block, Line
from lamplighter.frontends.cli.text import clean

_ONCE = "good once, within ten minutes; it logs that browser in for seven days"


def opened(result: dict[str, Any]) -> list[Block]:
    link: list[Block] = [Line(clean(result["url"])), Line((_ONCE, "dim"))]
    return [Line("opened in your browser. Should nothing show, use this there:"), *link] if result["opened"] else link


def closed(result: dict[str, Any]) -> list[Block]:
    if not result["logins"]:
        return [Line("no browser was logged in")]
    return [Line(f"logged out: {counted(result['logins'], 'browser')}")]
