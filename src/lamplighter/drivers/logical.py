"""Sessions without a process of ours. Knows that there is nothing to type into, to read from or to ask."""

from __future__ import annotations

from lamplighter.drivers.unreachable import UnreachableDriver
from lamplighter.errors import Code, ConflictError


def out_of_reach(who: str = "it") -> ConflictError:
    """Why a logical session can neither be talked to nor read."""
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{who} is a logical session: an agent tells of itself, and no process of it is held here",
        "lamp show says what is known of it, lamp end closes it",
    )


class LogicalDriver(UnreachableDriver):
    def refusal(self) -> ConflictError:
        return out_of_reach()
