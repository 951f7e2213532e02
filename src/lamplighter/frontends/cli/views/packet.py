"""A packet as it is: its text is what a successor reads, to the letter."""

from __future__ import annotations

from typing import Any

from lamplighter.frontends.cli.blocks import Block, Line


def packet(result: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [Line(line) for line in result["text"].splitlines()]
    if not result["receipt_kept"]:
        blocks.append(Line(("note: ", "warn"), "the store cannot be written, so no receipt of this is kept", loud=True))
    return blocks
