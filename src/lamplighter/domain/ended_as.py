"""How a session's end reads to whoever comes after it, in one word. Knows nothing of what was handed over."""

from __future__ import annotations

from enum import StrEnum

from lamplighter.domain.ending import How
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded


class Close(StrEnum):
    """With a hand-off of its own; by others; by a fault; or gone, or there still, without having closed."""

    CLOSED = "closed"
    KILLED = "killed"
    CRASHED = "crashed"
    UNCLOSED = "unclosed"


def close_of(session: Session, *, handed_off: bool) -> Close:
    """`handed_off`: with a hand-off that somebody wrote to end it with. That closes it also while it is alive."""
    if handed_off:
        return Close.CLOSED
    if not isinstance(session.state, HasEnded):
        return Close.UNCLOSED
    ending = session.state.ending
    if ending.how in (How.KILLED, How.TERMINATED):
        return Close.KILLED
    failed = ending.how is How.EXITED and ending.exit is not None and ending.exit.failed
    return Close.CRASHED if failed or ending.how is How.LOST else Close.UNCLOSED
