"""What a driver is. Above it: lifecycle, which knows sessions. Below it: the wire to a shim, which knows bytes."""

from __future__ import annotations

from typing import Protocol

from lamplighter.line import Line


class Driver(Protocol):
    """Knows how one way of running takes input and is asked to stop. Knows nothing of the store or of who may."""

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        """What to write into the session for this text, or for these names of keys."""
        ...

    async def ask_to_stop(self, line: Line) -> bool:
        """Ask in the session's own way; False when there is no such way, so that nobody waits for an answer."""
        ...
