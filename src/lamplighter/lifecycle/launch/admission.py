"""Whether there is room for one more, below whom, and under which name; for sessions with a process and without.

Knows the living and what a caller may; writes nothing.
"""

from __future__ import annotations

from lamplighter.domain.counting import counted
from lamplighter.domain.permission import Act, Caller, Rank, check
from lamplighter.domain.session import Driver, Session
from lamplighter.errors import Code, ConflictError, ForbiddenError
from lamplighter.lifecycle.fleet import Fleet


class Admission:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._numbers: dict[str, int] = {}

    def check_count(self, caller: Caller) -> None:
        """TOO_MANY when this owner has as many living sessions as one may have; the dead never count."""
        most = self.fleet.settings.sessions_per_owner
        if most is None:
            return
        count = sum(1 for lamp in self.fleet.lamps.values() if _counts(lamp.session, caller))
        if count >= most:
            raise ConflictError(
                Code.TOO_MANY,
                f"{caller.name} has {counted(count, 'session')}, and sessions_per_owner allows {most} at once",
                "end some first: lamp ls shows them, lamp cleanup ends what is done",
            )

    async def parent_for(self, named: str | None, caller: Caller) -> Session | None:
        if named is None:
            lamp = self.fleet.lamps.get(caller.session or "")
            return lamp.session if lamp else None
        parent = await self.fleet.find(named)
        if not parent.alive:
            raise ConflictError(
                Code.ENDED,
                f"{parent.name} ({parent.id}) has ended and can start nothing",
                "leave parent out, or name a living session",
            )
        if caller.rank is not Rank.OPERATOR and parent.id != caller.session:
            check(caller, Act.SEND, parent, parent.line)
        if caller.rank is Rank.UNKNOWN:
            raise ForbiddenError(
                Code.FORBIDDEN, f"{caller.name} may not start children of {parent.name}", "leave parent out"
            )
        return parent

    def free_name(self, base: str) -> str:
        if base not in self.fleet.names:
            return base
        number = self._numbers.get(base, 2)
        while f"{base}-{number}" in self.fleet.names:
            number += 1
        self._numbers[base] = number  # so that the thousandth of a name is found as fast as the second
        return f"{base}-{number}"


def name_taken(name: str, by: str) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN,
        f"a living session is called {name} already: {by}",
        "choose another name, or end that one first",
    )


def _counts(session: Session, caller: Caller) -> bool:
    """Whether it is one of the caller's by its own doing: an agent that only spoke to us was started by nobody here."""
    return session.owner == caller.name and session.driver is not Driver.REGISTERED
