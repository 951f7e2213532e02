"""What a driver is. Above it: lifecycle, which knows sessions. Below it: the wire to a shim, which knows bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lamplighter.line import Line


class Driver(Protocol):
    """Knows how one way of running takes input and is asked to stop. Knows nothing of the store or of who may."""

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        """What to write into the session for this text, or for these names of keys."""
        ...

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        """Have this typed, once however often it is asked for with the same key; the cursor from before it comes back.
        `place` is where the session is, for a driver that needs to know."""
        ...

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        """Ask in the session's own way; False when there is no such way, so that nobody waits for an answer."""
        ...
