"""The person's own terminal: raw while a session has it, and as it was before, whatever happens.

A terminal has a main and an alternate screen. An attached session is shown on the alternate one, whichever of its own it is on:
the shell's stays untouched below. So the session's switches must not get through: going to its alternate screen becomes a
clearing, and coming back is told, because only the daemon still knows what was there. Knows escape sequences; knows no session.
"""

from __future__ import annotations

import contextlib
import os
import re
import termios
import tty

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.terminal.output_buffer import OutputBuffer

_MODES = (1, 5, 6, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2031)

_UNFINISHED = b"\x18\x1b\\"  # ends a sequence that was cut in the middle
_MAIN = b"\x1b[?1049l"
_PLAIN = (
    b"".join(b"\x1b[?%dl" % mode for mode in _MODES)
    + b"\x1b>\x1b[?7h\x1b[?25h\x1b[4l\x1b(B\x0f"
    + b"\x1b[<99u\x1b[>4m\x1b[0 q"  # the keyboard protocols of kitty and xterm, the cursor's shape
    + b"\x1b[r\x1b[0m"
)
RESET = _UNFINISHED + _MAIN + _PLAIN
"""Main screen, no mouse, no paste marks, the cursor shown, no colours, the whole screen scrolling."""

CLEAR = RESET + b"\x1b[H\x1b[2J"
LEAVE = RESET + b"\x1b[999;1H\r\n"
LEAVE_INLINE = _UNFINISHED + b"\x1b7" + _MAIN + _PLAIN + b"\x1b8\x1b[0m"
"""The same without moving the cursor, for a command whose output stands among other output."""

ENTER_APART = b"\x1b[?1049h"
CLEAR_APART = _UNFINISHED + _PLAIN + b"\x1b[H\x1b[2J"
LEAVE_APART = _UNFINISHED + _PLAIN + b"\x1b[999;1H" + _MAIN
"""On the alternate screen, and back from it to the shell's as it was. Modes are put back before: some belong to a screen."""

_SWITCHES = frozenset({b"47", b"1047", b"1049"})
_SEQUENCE = re.compile(rb"\x1b\[\?([0-9;]*)([hlsr])|\x1bc")
_BEGUN = re.compile(rb"\x1b(?:\[(?:\?[0-9;]{0,64})?)?\Z")
_ONE_SCREEN = ("dumb", "linux", "ansi", "vt100", "vt102", "vt220")


class Terminal:
    """Raw while entered. Output goes through a descriptor of our own that does not block, where one can be had."""

    def __init__(self) -> None:
        self.source = 0
        self.output = OutputBuffer(1)
        self.goodbye = LEAVE
        self._own: int | None = None
        self._saved: list[object] = []

    def __enter__(self) -> Terminal:
        self._saved = termios.tcgetattr(self.source)
        self._own = _open_own(1)
        if self._own is not None:
            self.output = OutputBuffer(self._own, own=True)
        self.make_raw()
        return self

    def __exit__(self, *_: object) -> None:
        if os.environ.get("TERM") != "dumb":
            self.output.put(self.goodbye)
        self.output.drain(2.0)
        with contextlib.suppress(termios.error):  # the terminal is gone: there is nothing to put back
            termios.tcsetattr(self.source, termios.TCSANOW, self._saved)  # pyright: ignore[reportArgumentType]
        if self._own is not None:
            os.close(self._own)

    def typed(self) -> bytes:
        """What was typed; nothing when the terminal is gone."""
        try:
            return os.read(self.source, 65536)
        except OSError:
            return b""

    def make_raw(self) -> None:
        with contextlib.suppress(termios.error):
            tty.setraw(self.source, termios.TCSANOW)


def _open_own(descriptor: int) -> int | None:
    """The same terminal, opened anew: not blocking here leaves the shell's descriptor as it is."""
    try:
        return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def has_two_screens() -> bool:
    """Whether the terminal has an alternate screen; of one that is not known that is assumed."""
    return os.environ.get("TERM") not in _ONE_SCREEN


def is_terminal() -> bool:
    """Whether a person can be at a session here: input and output are both terminals."""
    return os.isatty(0) and os.isatty(1)


class Key:
    """A key to look for in what is typed: as a control character, and as kitty's and xterm's protocols write it."""

    def __init__(self, name: str) -> None:
        character = name.removeprefix("C-").lower()
        if (
            not name.startswith("C-")
            or len(character) != 1
            or not (character.isalpha() or character in "\\]^_@")
            or not character.isascii()
        ):
            raise InputError(
                Code.BAD_INPUT, f"no such key to detach with: {name[:20]!r}", "write it as C-x, C-\\ or C-]; or none"
            )
        code = ord(character)
        control = bytes([ord(character.upper()) & 0x1F])
        self._pattern = re.compile(
            re.escape(control) + b"|\x1b\\[%d(?::\\d*)*;5(?::1)?u" % code + b"|\x1b\\[27;5;%d~" % code
        )

    def cut(self, typed: bytes) -> bytes | None:
        """What was typed before the key, or None when the key is not in it."""
        found = self._pattern.search(typed)
        return None if found is None else typed[: found.start()]


def key_named(name: str | None) -> Key | None:
    return None if name in (None, "none") else Key(name)


class AlternateScreen:
    """Keeps a session's switches from the terminal. `left`: it came back from its alternate screen, or reset its terminal."""

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
