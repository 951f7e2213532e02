"""Who may come in over HTTP: tokens, the link to the page, and the end of its logins."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Table, TextLine, facts
from lamplighter.frontends.cli.display.format import clean

_ONCE = "good once, within ten minutes; it logs that browser in for seven days"


def created(result: dict[str, Any]) -> list[Block]:
    shown = clean(result["secret"]) if result["secret"] else ("not shown again", "warn")
    rows: list[Any] = [
        ("token", clean(result["name"])),
        ("may", ", ".join(map(clean, result["scopes"]))),
        ("until", clean(result["expires_at"] or "revoked")),
        ("use it at", clean(result["url"] or "-")),
        ("secret", shown),
    ]
    last = "the secret is stored nowhere: keep it now" if result["secret"] else clean(result["note"])
    return [*facts(rows), TextLine((last, "dim")), *([] if result["url"] else [TextLine(clean(result["note"]))])]


def listed(result: dict[str, Any]) -> list[Block]:
    if not result["tokens"]:
        return [TextLine("there are no tokens; lamp token create NAME --scope read makes one")]
    rows = [
        [
            clean(row["name"]),
            clean(row["state"]),
            ",".join(map(clean, row["scopes"])),
            clean(row["made_at"]),
            clean(row["expires_at"] or "never"),
            clean(row["used_at"] or "-"),
        ]
        for row in result["tokens"]
    ]
    return [Table(("name", "state", "may", "made", "expires", "last used"), rows)]


def revoked(result: dict[str, Any]) -> list[Block]:
    return [TextLine(f"revoked {clean(result['name'])}: it opens nothing any more")]


def opened(result: dict[str, Any]) -> list[Block]:
    link: list[Block] = [TextLine(clean(result["url"])), TextLine((_ONCE, "dim"))]
    return (
        [TextLine("opened in your browser. Should nothing show, use this there:"), *link] if result["opened"] else link
    )


def closed(result: dict[str, Any]) -> list[Block]:
    if not result["logins"]:
        return [TextLine("no browser was logged in")]
    return [TextLine(f"logged out: {counted(result['logins'], 'browser')}")]
