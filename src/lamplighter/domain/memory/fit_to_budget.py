"""Lines into a room: how many of them, and how much of each. Knows sizes in bytes; knows nothing of what the lines say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from lamplighter.domain.text.quoting import shortened, size
from lamplighter.lazy_dataclass import dataclass

Key = TypeVar("Key")


class PacketItem:
    """What is shown of one thing: a head that is always whole, and a text that may be shortened."""

    __slots__ = ("_around", "_length", "head", "id", "text")

    def __init__(self, head: str, text: str, identifier: str | None = None) -> None:
        self.head = head
        self.text = text
        self.id = identifier
        self._around = size(head) + 1
        self._length = size(text)

    @property
    def length(self) -> int:
        """Of its text."""
        return self._length

    def size(self, cap: int) -> int:
        """At most what its line takes when its text may have so many bytes."""
        return self._around + min(self._length, cap)

    def line(self, cap: int) -> str:
        return f"{self.head}{shortened(self.text, cap)}\n"


@dataclass(frozen=True)
class FittedText:
    """`shown` items of those that were there, in `text`; `shortened` of them not whole."""

    text: str
    used: int
    shown: int
    shortened: int
    ids: tuple[str, ...]


def fill(items: Sequence[PacketItem], room: int, least: int, *, whole: bool = False) -> FittedText:
    """As many as there is room for when each text has `least` bytes, or is whole; then each gets as much as all can have.
    With `whole`, all of them, whatever the room."""
    chosen = items if whole else items[: _how_many(items, room, least)]
    cap = _cap(chosen, room, least)
    text = "".join(item.line(cap) for item in chosen)
    ids = tuple(item.id for item in chosen if item.id is not None)
    return FittedText(text, size(text), len(chosen), sum(item.length > cap for item in chosen), ids)


def share(
    items: Mapping[Key, Sequence[PacketItem]], rooms: Mapping[Key, int], least: Mapping[Key, int], free: int, whole: Key
) -> dict[Key, FittedText]:
    """Each gets its room in turn, and what is left over flows downward; what is left in the end goes to those that were cut,
    from the top. What `whole` takes beyond its room is what the last ones lose."""
    done = dict[Key, FittedText]()
    carry = 0
    for key, its in items.items():
        room = min(rooms[key] + carry, free)
        done[key] = fill(its, room, least[key], whole=key == whole)
        free -= done[key].used
        carry = max(0, room - done[key].used)
    for key, its in items.items():
        before = done[key]
        if free > 0 and (before.shown < len(its) or before.shortened):
            done[key] = fill(its, before.used + free, least[key], whole=key == whole)
            free -= done[key].used - before.used
    return done


def _how_many(items: Sequence[PacketItem], room: int, least: int) -> int:
    for number, item in enumerate(items):
        room -= item.size(least)
        if room < 0:
            return number
    return len(items)


def _cap(items: Sequence[PacketItem], room: int, least: int) -> int:
    """The most that each text may have so that all fit; never less than `least`."""
    low, high = least, max((item.length for item in items), default=least)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(item.size(middle) for item in items) <= room:
            low = middle
        else:
            high = middle - 1
    return max(low, least)
