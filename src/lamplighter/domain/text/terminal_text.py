"""What programs print for a terminal, as text: without escape sequences, and without what was written over."""

from __future__ import annotations

from lamplighter import lazy_re as re

SEQUENCE = (
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
"""A whole escape sequence. What begins one of the longer kinds and was cut is none."""
_ANY = re.compile(rf"{SEQUENCE}|\x9b[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?")


def without_escapes(text: str, instead: str = "") -> str:
    """The text without escape sequences, also without the beginning of one that was cut."""
    return _ANY.sub(instead, text)


def overwritten(line: str) -> str:
    """What is left on the screen of a line in which carriage returns went back to the start."""
    return line.rstrip("\r").rpartition("\r")[2]
