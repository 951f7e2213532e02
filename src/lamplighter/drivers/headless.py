"""Sessions on pipes. Knows that the end of input is the way to ask."""

from __future__ import annotations

from lamplighter.errors import Code, InputError
from lamplighter.line import Line


class HeadlessDriver:
    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        if keys:
            raise InputError(Code.BAD_INPUT, "a headless session has no keyboard", "send text; or lamp kill to stop it")
        return text.encode(errors="surrogateescape") + (b"\n" if enter else b"")

    async def ask_to_stop(self, line: Line) -> bool:
        await line.ask("eof")
        return True
