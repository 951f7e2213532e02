"""Sessions on a terminal. Knows what keys send; knows nothing of screens."""

from __future__ import annotations

import base64

from lamplighter.domain.keys import encode_keys
from lamplighter.line import Line


class TerminalDriver:
    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        if keys:
            return encode_keys(text)
        return text.encode(errors="surrogateescape") + (b"\r" if enter else b"")

    async def ask_to_stop(self, line: Line) -> bool:
        """Ctrl-D, the end of input: shells, interpreters and most line-readers leave at it."""
        await line.ask("input", data=base64.b64encode(b"\x04").decode(), by="lamplighter", id="")
        return True
