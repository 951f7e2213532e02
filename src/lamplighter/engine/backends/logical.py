"""Sessions without a process of ours: an agent tells of itself. There is nothing to type into, to read or to signal."""

from __future__ import annotations

from lamplighter.domain.ending import Certificate, Ending, Guarantee, How
from lamplighter.domain.session import Session
from lamplighter.domain.states import BeingEnded
from lamplighter.engine.backends.base import Reply
from lamplighter.engine.backends.unreachable import UnreachableBackend
from lamplighter.engine.core.registry import LiveSession
from lamplighter.errors import Code, ConflictError, Hint, Use


class LogicalBackend(UnreachableBackend):
    survives_boot = True

    def recover(self, live: LiveSession) -> bool:
        """It has no process to be found: it is alive by its lease."""
        live.guarantee = Guarantee.BEST_EFFORT.value
        return True

    async def stop(self, live: LiveSession) -> Ending:
        """There is nobody to ask and nothing to signal: the intent is the end."""
        assert isinstance(live.session.state, BeingEnded)
        intent = live.session.state.intent
        how = How.LOST if intent.how is How.LOST else How.ASKED
        nothing = Certificate(Guarantee.BEST_EFFORT, 0.0)
        return Ending(self.registry.clock.now(), intent.by, intent.reason, how, None, nothing)

    async def reply(self, session: Session) -> Reply | None:
        raise self.refusal(session)

    def check_visible(self, session: Session) -> None:
        raise self.refusal(session)

    def refusal(self, session: Session) -> ConflictError:
        return ConflictError(
            Code.NOT_ATTACHABLE,
            f"{session.name} ({session.id}) is a logical session: an agent tells of itself, and no process of it is held here",
            Hint(Use("show"), " says what is known of it, ", Use("end"), " closes it"),
        )
