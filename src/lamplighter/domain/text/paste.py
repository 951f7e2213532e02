"""A text as a terminal hands over a paste: in brackets, with nothing in it that is more than text. Knows no terminal."""

from __future__ import annotations

from lamplighter import lazy_re as re

_BEGIN, _END = b"\x1b[200~", b"\x1b[201~"
# Without ESC the mark of a paste's end is only text, as everything else that begins with it.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("\r\n?")
_NO_CHARACTERS = re.compile("[\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Lines, tabs and characters. What is none of these is left out; bytes that are no text are marked."""
    return _NO_CHARACTERS.sub("\ufffd", _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))


def bracketed(text: str) -> bytes:
    """What a terminal sends for a paste; the end of a line as it sends that, too."""
    return _BEGIN + text.replace("\n", "\r").encode() + _END
