"""What start, adopt, send, wait and protect answer: one line each."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.display.format import clean, exit_words


def _line(word: str, style: str, result: dict[str, Any], rest: str = "") -> list[Block]:
    return [TextLine((word, style), " ", (clean(result["name"]), "strong"), f" ({clean(result['id'])}){rest}")]


def started(result: dict[str, Any]) -> list[Block]:
    note = result.get("note")
    return _line("started", "good", result) + ([TextLine(("note: ", "dim"), clean(note))] if note else [])


def protected(result: dict[str, Any]) -> list[Block]:
    return _line("protected" if result["protected"] else "no longer protected", "good", result)


def adopted(result: dict[str, Any]) -> list[Block]:
    return _line("adopted", "good", result, f"; an end of it is {clean(result['guarantee'])}")


def sent(result: dict[str, Any]) -> list[Block]:
    return [
        TextLine(
            ("sent", "good"), f" {counted(result['size'], 'byte')}; read the answer with --since {result['cursor']}"
        )
    ]


def waited(result: dict[str, Any]) -> list[Block]:
    """One line a session."""
    return [line for one in result["sessions"] for line in _waited(one)]


def _waited(one: dict[str, Any]) -> list[Block]:
    style = "bad" if one["failed"] else "good"
    ended = f": {exit_words(one['exit'])}" if one["state"] == "ended" else ""
    if one.get("reply") is not None:
        how = "" if one["turn"] == "done" else f", {clean(one['turn'])}"
        return [
            *_line("reply", style, one, f"{how}{ended}:"),
            *(TextLine(clean(line)) for line in one["reply"].splitlines()),
        ]
    asks = f": {clean(one['asks'])}" if one.get("asks") else ""
    return _line(clean(one["met"]), style, one, ended or asks)
