"""Words for values: sizes, ages, commands. And the one place where foreign text is made harmless.

Names, commands and reasons come from sessions and may hold anything, escape sequences too. What passes `clean` can be
written to a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.size import format_size as size

__all__ = ["age", "ago", "clean", "command_line", "cpu", "exit_words", "instant", "named", "size", "took", "width"]

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./~")
_JOINERS = "\u200c\u200d"  # emoji and several scripts need them, and they move nothing


def clean(text: object) -> str:
    """The text with every character that could act on a terminal written out, such as \\x1b."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(map(_visible, plain))


def _visible(character: str) -> str:
    if character in _JOINERS or (unicodedata.category(character)[0] != "C" and character not in "\u2028\u2029"):
        return character
    return character.encode("unicode_escape").decode("ascii")


def width(text: str) -> int:
    """How many columns a terminal gives it."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def command_line(words: Sequence[object]) -> str:
    """A command as it could be typed into a shell, harmless to show."""
    return " ".join(clean(_quoted(str(word))) for word in words)


def _quoted(word: str) -> str:
    if word and _BARE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def cpu(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 60 else format_duration(seconds)


def took(seconds: float | None) -> str:
    """How long an ending took. Less than nothing is a clock's mistake, or that of a holder of before, and is not shown."""
    return "-" if seconds is None else f"{max(0.0, seconds):.2f} s"


def named(found: dict[str, Any]) -> str:
    """A session's name, or a leak's, and its id."""
    return f"{clean(found.get('name', ''))} ({clean(found.get('id', ''))})"


def exit_words(found: dict[str, Any] | None) -> str:
    """How a command exited, in two words."""
    if not found:
        return "exit unknown"
    if found.get("signal"):
        return f"signal {clean(found['signal'])}"
    return "exit unknown" if found.get("code") is None else f"exit {clean(found['code'])}"


def instant(moment: str | None) -> float | None:
    """Unix seconds of a time as the daemon writes it."""
    if not moment:
        return None
    from datetime import datetime  # 1 ms that most commands do not need

    return datetime.fromisoformat(moment).timestamp()


def age(session: dict[str, Any], now: float) -> str:
    """How long a session has run; for one that has ended, how long it ran."""
    begin = instant(session.get("started_at") or session.get("created_at"))
    end = instant(session.get("ended_at")) or now
    return "-" if begin is None else format_duration(end - begin)


def ago(moment: str | None, now: float) -> str:
    seconds = instant(moment)
    return "never" if seconds is None else f"{format_duration(now - seconds)} ago"
