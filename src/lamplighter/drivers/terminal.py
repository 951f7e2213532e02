"""Sessions on a terminal. Knows what keys send; knows nothing of screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.keys import encode_keys
from lamplighter.line import Line


class TerminalDriver:
    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        if keys:
            return encode_keys(text)
        return text.encode(errors="surrogateescape") + (b"\r" if enter else b"")

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        del place
        return await line.type(data, by, key)

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        """Ctrl-D, the end of input: shells, interpreters and most line-readers leave at it."""
        await self.type(line, place, b"\x04", "lamplighter", "")
        return True
