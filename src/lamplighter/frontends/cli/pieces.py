"""What an install changed in a text, piece by piece, so that each can be taken back to the byte while nobody has touched it.

Knows text; knows nothing of what it says.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple


class Piece(NamedTuple):
    """`was` stood where `now` stands since."""

    was: str
    now: str

    def taken_back(self, text: str, *, lines: bool) -> str | None:
        """The text with this as it was; None when it is not there any more, or twice. `lines`: a line means what it does only for
        itself, so what came behind it begins a line of its own."""
        if not self.now or text.count(self.now) != 1:
            return None
        head, _, tail = text.partition(self.now)
        head += self.was
        if lines and self.now.endswith("\n") and tail and head and not head.endswith("\n") and tail[0] not in "\r\n":
            head += "\r\n" if self.now.endswith("\r\n") else "\n"
        return head + tail


def piece(before: str, after: str) -> Piece:
    """The one place in which two texts differ."""
    head = common(before, after)
    most = min(len(before), len(after)) - head
    tail = common(before[::-1][:most], after[::-1][:most])
    return Piece(before[head : len(before) - tail], after[head : len(after) - tail])


def common(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
