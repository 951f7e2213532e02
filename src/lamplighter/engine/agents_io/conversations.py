"""Which of its agent's own conversations a session is in: what the agent calls it, kept as an alias while it lasts.

An agent that is told to forget, or that goes on with an older conversation, is in another one from then on; the session stays the
same. Whoever learns it tells it here: the start, a hook, the MCP bridge, the agent's files. Knows aliases; knows no agent.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lamplighter import lazy_re as re
from lamplighter.agents.formats.fingerprints import fingerprints_of
from lamplighter.domain.facts import Conversation
from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Session
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, ConflictError, Hint, LampError, Use
from lamplighter.store import aliases

log = logging.getLogger(__name__)
_ID = re.compile(r"[^\s\x00-\x20\x7f-][^\s\x00-\x20\x7f]{0,199}")


class Conversations:
    """`namespace` of the aliases is the agent's name. Two sessions may have been in one conversation, one after the other."""

    def __init__(self, registry: SessionRegistry, backends: Backends) -> None:
        self.registry = registry
        self.backends = backends

    async def enter(
        self, session: str, conversation: str, *, path: str | None = None, by: Caller = DAEMON, why: str = "seen"
    ) -> bool:
        """The session is in this conversation from now on, its transcript at `path`. Safe to repeat: False when it was known, and
        for what cannot be an id."""
        now = self.registry.clock.now()
        live = self.registry.live_sessions.get(session)
        if live is None or not is_id(conversation):
            return False
        agent = live.session.agent
        # Where we write it down, the agent's own file, of which its hooks tell, is not what is read.
        path = self.backends.of(live.session).transcript(live.session) or path

        def become(before: Session) -> Session | None:
            known = before.conversation
            document: Conversation = {
                "id": conversation,
                "path": path or (known.get("path") if known.get("id") == conversation else None),
            }
            if document == known:
                return None
            passed = before.conversations
            kept = passed[:-1] if passed and passed[-1].get("id") == conversation else passed
            again = len(kept) < len(passed)
            at = passed[-1].get("at", now) if again else now
            passed_now: Conversation = {**document, "at": at}
            return replace(
                before, facts=replace(before.facts, conversation=document, conversations=(*kept, passed_now))
            )

        def write(db: sqlite3.Connection) -> None:
            aliases.turn_to(db, agent, conversation, session, now)

        changed = await self.registry.change(
            session, by, "conversation", become, also=write, agent=agent, conversation=conversation, why=why
        )
        return changed is not None

    async def hear(self, session: str | None, meta: Mapping[str, Any]) -> None:
        """What an agent's MCP call says beside its arguments. A call is never refused for it."""
        live = self.registry.live_sessions.get(session or "")
        told = fingerprints_of(live.session.agent).in_call(meta) if live else None
        if live is None or told is None or told == live.session.conversation.get("id"):
            return
        try:
            await self.enter(live.session.id, told, why="its call")
        except LampError as error:
            log.warning("%s is in another conversation, and that is not kept: %s", live.session.id, error)

    async def session_in(self, agent: str, conversation: str) -> str | None:
        """The id of the session that is in this conversation, else of the last that was."""
        return await self.registry.store.get(lambda db: aliases.find(db, agent, conversation))


def is_id(text: str) -> bool:
    """Whether an agent may call a conversation so. Whoever goes on with it gives it to the agent as a word: it is no option."""
    return _ID.fullmatch(text) is not None


def begin(db: sqlite3.Connection, agent: str, conversation: str, session: str, at: float) -> None:
    """In the transaction that writes down a start. ACTIVE when somebody who runs is in it: each of two in one conversation would
    overwrite what the other says."""
    other = aliases.living_with(db, agent, conversation)
    if other is not None:
        raise occupied(*other)
    aliases.turn_to(db, agent, conversation, session, at)


def occupied(session: str, name: str) -> ConflictError:
    return ConflictError(
        Code.ACTIVE,
        f"{name} ({session}) is in this conversation, and runs",
        Hint(
            Use("send", session=session),
            " speaks to it, ",
            Use("attach", session=session),
            " shows it; or end it first",
        ),
    )


def first_of_agent(conversation: str | None) -> Conversation:
    """Of a session whose agent is told at its start what to call the conversation; its alias is given with the start."""
    return {"id": conversation, "path": None} if conversation else {}
