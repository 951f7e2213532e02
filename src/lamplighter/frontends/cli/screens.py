"""A session's own switching between its two screens, kept from the person's terminal.

A terminal has a main and an alternate screen. An attached session is shown on the alternate one, whichever of its own it is on:
the shell's stays untouched below. So the session's switches must not get through: going to its alternate screen becomes a
clearing, and coming back is told, because only the daemon still knows what was there. Knows escape sequences; knows no session.
"""

from __future__ import annotations

import re

_SWITCHES = frozenset({b"47", b"1047", b"1049"})
_SEQUENCE = re.compile(rb"\x1b\[\?([0-9;]*)([hlsr])|\x1bc")
_BEGUN = re.compile(rb"\x1b(?:\[(?:\?[0-9;]{0,64})?)?\Z")


class AlternateScreen:
    """`left` becomes true when the session came back from its alternate screen, or reset its terminal."""

    def __init__(self, reset: bytes) -> None:
        self.left = False
        self._reset = reset  # in place of a full reset, which would end the alternate screen
        self._begun = b""

    def passed(self, data: bytes) -> bytes:
        """What may go to the terminal. A sequence that is not whole yet waits for its end."""
        if not self._begun and b"\x1b" not in data:
            return data
        data = self._begun + data
        begun = _BEGUN.search(data)
        self._begun = begun[0] if begun else b""
        return _SEQUENCE.sub(self._replaced, data[: len(data) - len(self._begun)])

    def anew(self, screen: bytes) -> bytes:
        """As `passed`, for a whole screen: what was begun before it is void, and it shows the session as it is now."""
        self._begun = b""
        shown = self.passed(screen)
        self.left = False
        return shown

    def _replaced(self, found: re.Match[bytes]) -> bytes:
        if found[0] == b"\x1bc":
            self.left = True
            return self._reset
        modes, end = found[1].split(b";"), found[2]
        if not _SWITCHES.intersection(modes):
            return found[0]
        rest = b";".join(mode for mode in modes if mode not in _SWITCHES)
        kept = b"\x1b[?%s%s" % (rest, end) if rest else b""
        if end == b"h":
            return kept + b"\x1b[2J"
        if end in b"lr":
            self.left = True
            return kept + b"\x1b[H\x1b[2J"
        return kept
