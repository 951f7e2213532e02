"""What a program asks its terminal, found in what it prints. Exactly one answers: somebody's real terminal, or the daemon.

Two answers are as bad as none: the second is taken for something typed. So to all others the questions are passed on as NULs,
which a terminal passes over, and which leave every offset as it is. Standard library only.
"""

from __future__ import annotations

import re

# Status and cursor position, attributes, name, keyboard protocol, modes, sizes; settings and capabilities; colours, clipboard.
_QUESTION = re.compile(
    rb"\x1b(?:"
    rb"\[(?:\??[56]n|\?996n|[>=?]?0?c|>0?q|\?u|\??\d+\$p|1[4-9]t|2[01]t)"
    rb"|Z"
    rb"|P[$+]q[^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|\](?:[45];\d+|1\d|2[12]|52;\w*);\?(?:\x07|\x1b\\)"
    rb"|_G[^;\x1b]*\ba=q\b[^\x1b]*\x1b\\"
    rb")"
)
# What may become one of these with what comes next: two reads may share a sequence.
_BEGUN = re.compile(
    rb"\x1b(?:"
    rb"\[[>=?]?[\d$]{0,8}"
    rb"|P(?:[$+](?:q[^\x07\x1b]*\x1b?)?)?"
    rb"|\](?:[\d;]{0,12}|52;\w*;?)\??\x1b?"
    rb"|_(?:G[^\x1b]*\x1b?)?"
    rb")?\Z"
)
_LONGEST = 4096  # what is longer is no question


class TerminalQueries:
    """Of one session. What it holds back of one read comes with the next."""

    def __init__(self) -> None:
        self.held = b""
        self.asked = False

    def take(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """What the others are sent now, and where it begins: all that was printed so far but its questions and an unfinished end.
        `asked` then says whether a question was completed in it."""
        begin, text = offset - len(self.held), self.held + data
        self.held, self.asked = b"", False
        if b"\x1b" not in text:
            return begin, text
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        if begun is not None:
            self.held, text = text[begun.start() :], text[: begun.start()]
        hidden, count = _QUESTION.subn(_hide, text)
        self.asked = count > 0
        return begin, hidden

    def forget(self) -> None:
        """Nobody was there to hear."""
        self.held, self.asked = b"", False


def _hide(question: re.Match[bytes]) -> bytes:
    return b"\0" * len(question[0])
