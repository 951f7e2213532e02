"""Sessions that were there before us, in terminals that are not ours. Knows that nothing can be typed there or read from them."""

from __future__ import annotations

from lamplighter.domain.session import Session
from lamplighter.drivers.unreachable import UnreachableDriver
from lamplighter.errors import Code, ConflictError


def out_of_reach(session: Session | None = None) -> ConflictError:
    """Why it can neither be talked to nor read here, and where that is done instead."""
    who = f"{session.name} ({session.id})" if session else "it"
    if session is not None and not session.alive:
        return ConflictError(
            Code.ENDED,
            f"{who} has ended; its terminal was never ours, so its output was not kept",
            "lamp show says how it ended",
        )
    terminal = session.facts.get("terminal") if session else None
    where = (
        f"go to its own terminal, {terminal}" if terminal else "it has no terminal; whoever started it can talk to it"
    )
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{who} was not started by Lamplighter: its terminal is not ours to type into or to read",
        f"{where}; lamp show says what is known of it, lamp end ends it",
    )


class RegisteredDriver(UnreachableDriver):
    def refusal(self) -> ConflictError:
        return out_of_reach()
