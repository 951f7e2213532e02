"""The link to the page, and the end of its logins."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.display.format import clean

_ONCE = "good once, within ten minutes; it logs that browser in for seven days"


def opened(result: dict[str, Any]) -> list[Block]:
    link: list[Block] = [TextLine(clean(result["url"])), TextLine((_ONCE, "dim"))]
    return (
        [TextLine("opened in your browser. Should nothing show, use this there:"), *link] if result["opened"] else link
    )


def closed(result: dict[str, Any]) -> list[Block]:
    if not result["logins"]:
        return [TextLine("no browser was logged in")]
    return [TextLine(f"logged out: {counted(result['logins'], 'browser')}")]
