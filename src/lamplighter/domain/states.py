"""The states of a session and the only transitions between them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"


TRANSITIONS: dict[State, frozenset[State]] = {
    State.STARTING: frozenset({State.RUNNING, State.ENDING, State.ENDED}),
    State.RUNNING: frozenset({State.ENDING, State.ENDED}),
    State.ENDING: frozenset({State.ENDED}),
    State.ENDED: frozenset(),
}


def check_transition(before: State, after: State) -> None:
    """A wrong transition is a fault in our own code, so it is an assertion and not an error a person sees."""
    assert after in TRANSITIONS[before], f"a session cannot go from {before} to {after}"
