"""Sessions that speak the Agent Client Protocol over pipes. Knows what keys mean there; the talk is `lifecycle/acp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamplighter.drivers.headless import HeadlessDriver
from lamplighter.errors import Code, InputError
from lamplighter.line import Line

CANCEL = frozenset({"escape", "esc", "c-c", "^c", "c-["})
"""Keys that stop an agent's turn in its own terminal: here they cancel it."""


class AcpDriver:
    """Bytes go in whole messages alone, and those are made by the talk: what is typed is a prompt, which it carries."""

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        """A prompt's bytes; of keys, none: they cancel."""
        del enter
        if not keys:
            return text.encode(errors="surrogateescape")
        if all(key.lower() in CANCEL for key in text.split()) and text.split():
            return b""
        raise InputError(
            Code.BAD_INPUT,
            "a session that speaks ACP has no keyboard: Escape or C-c cancels its turn, other keys mean nothing",
            "send a prompt as text; or lamp send --keys SESSION Escape to cancel",
        )

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        return await HeadlessDriver().type(line, place, data, by, key)

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        """The end of input, after the talk was closed."""
        return await HeadlessDriver().ask_to_stop(line, place)
