"""The states of a session, each with its own data, and the only transitions between them.

A transition is a function from the states that it may begin from to the one that it leads to. What has ended has none.
"""

from __future__ import annotations

from typing import ClassVar

from lamplighter.domain.ending import Ending, Intent
from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Starting:
    word: ClassVar[str] = "starting"


@dataclass(frozen=True)
class Running:
    word: ClassVar[str] = "running"


@dataclass(frozen=True)
class BeingEnded:
    """Somebody wants its end; from here on it only ever goes towards that."""

    word: ClassVar[str] = "ending"
    intent: Intent


@dataclass(frozen=True)
class HasEnded:
    """Without an intent where nobody wanted its end: it left by itself, or was lost."""

    word: ClassVar[str] = "ended"
    ending: Ending
    intent: Intent | None = None


Living = Starting | Running | BeingEnded
State = Living | HasEnded
WORDS = (Starting.word, Running.word, BeingEnded.word, HasEnded.word)


def started(_: Starting) -> Running:
    return Running()


def to_end(_: Starting | Running, intent: Intent) -> BeingEnded:
    return BeingEnded(intent)


def ended(before: Living, ending: Ending) -> HasEnded:
    return HasEnded(ending, intent_of(before))


def intent_of(state: State) -> Intent | None:
    """Who wants its end, or wanted it, and why; None where nobody does or did."""
    return state.intent if isinstance(state, BeingEnded | HasEnded) else None


def asking(state: State) -> float:
    """For how many seconds it may be asked to leave; 0 where nobody wants its end, or waits for its own."""
    return state.intent.ask if isinstance(state, BeingEnded) else 0.0
