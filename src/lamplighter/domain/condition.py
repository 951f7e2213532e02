"""What can be waited for: ended, idle, waiting, reply, text=…; with commas several, of which the first that comes counts."""

from __future__ import annotations

from collections.abc import Iterable

from lamplighter.domain.ending import Exit, How
from lamplighter.errors import Code, InputError

ENDED, IDLE, WAITING, REPLY, TEXT = "ended", "idle", "waiting", "reply", "text="
WORDS = (ENDED, IDLE, WAITING, REPLY)


def parse_conditions(given: str | Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order given; BAD_INPUT for what cannot be waited for. A text takes all that follows, commas too."""
    found: list[str] = []
    for part in [given] if isinstance(given, str) else given:
        found += _split(part)
    if not found:
        raise _unknown("")
    return tuple(dict.fromkeys(found))


def reads_output(condition: str) -> bool:
    """Whether that it comes true tells something of what was printed."""
    return condition == REPLY or condition.startswith(TEXT)


def has_failed(exit_: Exit | None, how: How | None) -> bool:
    """Whether a session that has ended came to a bad end: a status other than 0, a signal, or lost. One without a process of its
    own, or whose process nobody could watch, has no exit to fail with."""
    return how is How.LOST or (exit_ is not None and exit_.failed)


def _split(part: str) -> list[str]:
    words: list[str] = []
    while part:
        if part.lstrip().startswith(TEXT):
            text = part.lstrip()
            if text == TEXT:
                raise _unknown(text)
            return [*words, text]
        word, comma, part = part.partition(",")
        if word.strip() not in WORDS or (comma and not part.strip()):
            raise _unknown(word.strip() if word.strip() not in WORDS else "")
        words.append(word.strip())
    return words


def _unknown(word: str) -> InputError:
    return InputError(
        Code.BAD_INPUT,
        f"nothing can be waited for that is called {word[:40]!a}",
        "wait for ended, idle, waiting, reply or text=…; several with commas between them, text=… last",
    )
