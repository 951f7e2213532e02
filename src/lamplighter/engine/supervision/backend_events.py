"""What backends tell of their own accord, and what is done about it."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.ending import StopSteps
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io.conversations import Conversations
from lamplighter.engine.backends import Backends
from lamplighter.engine.end.ender import Ender


class BackendEvents:
    def __init__(self, backends: Backends, ender: Ender, conversations: Conversations) -> None:
        self.ender = ender
        self.conversations = conversations
        backends.listen(self)

    async def exited(self, session: Session, document: dict[str, Any]) -> None:
        await self.ender.bury(session, document)

    async def done(self, session: Session) -> None:
        steps = StopSteps(ask=False, grace=self.ender.registry.settings.grace)
        await self.ender.end(session, DAEMON, "its task is done", steps, key=f"{session.key}/done")

    async def entered(self, session: str, conversation: str) -> None:
        await self.conversations.enter(session, conversation, why="begun")
