"""Whether there is room for one more, and below whom; for sessions with a process and without.

Knows the living and what a caller may; writes nothing.
"""

from __future__ import annotations

from lamplighter.domain.permission import Act, Caller, Rank, check
from lamplighter.domain.session import Session
from lamplighter.domain.text.plural import counted
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, ConflictError, ForbiddenError, Hint, Use


class Admission:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    def check_count(self, caller: Caller) -> None:
        """TOO_MANY when this owner has as many living sessions as one may have; the dead never count."""
        most = self.registry.settings.sessions_per_owner
        if most is None:
            return
        count = sum(1 for live in self.registry.live_sessions.values() if _counts(live.session, caller))
        if count >= most:
            raise ConflictError(
                Code.TOO_MANY,
                f"{caller.name} has {counted(count, 'session')}, and sessions_per_owner allows {most} at once",
                Hint("end some first: ", Use("ls"), " shows them, ", Use("cleanup"), " ends what is done"),
            )

    async def parent_for(self, named: str | None, caller: Caller) -> Session | None:
        if named is None:
            live = self.registry.live_sessions.get(caller.session or "")
            return live.session if live else None
        parent = await self.registry.find(named)
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


def _counts(session: Session, caller: Caller) -> bool:
    """Whether it is one of the caller's by its own doing: an agent that only spoke to us was started by nobody here."""
    return session.owner == caller.name and not session.in_foreign_terminal
