"""Sessions on pipes. Knows that the end of input is the way to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.line import Line


class HeadlessDriver:
    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        if keys:
            raise InputError(Code.BAD_INPUT, "a headless session has no keyboard", "send text; or lamp kill to stop it")
        return text.encode(errors="surrogateescape") + (b"\n" if enter else b"")

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        del place
        return await line.type(data, by, key)

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        del place
        await line.ask("eof")
        return True
