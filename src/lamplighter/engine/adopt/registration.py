"""Agents that nobody started here become sessions: known by their processes, listed, judged and ended as others are.

One process is one session, however many of what it started speak at once, and after a restart of the daemon it is found again by
pid and start time. Looking registers nobody: speaking does, and being adopted. Knows strangers and how they are recorded; who may
is not asked here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from lamplighter.agents import GENERIC
from lamplighter.domain.facts import Facts, ProcessKey
from lamplighter.domain.name import name_from
from lamplighter.domain.permission import DAEMON, OPERATOR, Caller
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.engine.adopt.process_group import AdoptedGroup, agents_among
from lamplighter.engine.agents_io.conversations import Conversations, first_of_agent
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.core.enrol import enrol, free_name, new_id
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.session_card import keep_card
from lamplighter.engine.memory.projects import Project, identity_of
from lamplighter.engine.repo.repository import commit_of
from lamplighter.errors import Code, ConflictError, Hint, LampError, Use
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK
from lamplighter.store import aliases

log = logging.getLogger(__name__)
_FOLDER_SECONDS = 2.0


class _Place(NamedTuple):
    """Where a stranger works."""

    cwd: str
    project: Project
    commit: str | None


class Registration:
    def __init__(self, registry: SessionRegistry, backends: Backends, conversations: Conversations) -> None:
        self.registry = registry
        self.backends = backends
        self.conversations = conversations
        self._lock = asyncio.Lock()  # one at a time: many of one agent's children may speak for the first time together

    def find(self, stranger: AdoptedGroup) -> Session | None:
        """The living session that one of these processes is the beginning of."""
        for live in self.registry.live_sessions.values():
            if not stranger.keys.isdisjoint(beginnings(live.session)):
                return live.session
        return None

    # -- who speaks

    async def of_caller(self, chain: Sequence[proc.Stat]) -> Session | None:
        """The session of the nearest agent among a caller and its ancestors, registered if need be. None when there is none, when
        it is not to be one, or when nothing can be written down now."""
        agents = agents_among(chain)
        if not agents:
            return None
        try:
            found = None if self._lock.locked() else self.find(agents[0])
            if found is None:
                async with self._lock:  # also to find it: what is not written down yet may never be
                    found = self.find(agents[0]) or await self._register_all(agents)
            if found is not None and not found.conversation:
                await self._learn(found, agents[0])
        except LampError as error:
            log.warning("an agent (process %s) speaks and is not registered: %s", agents[0].main.pid, error)
            return None
        return found

    async def _register_all(self, agents: Sequence[AdoptedGroup]) -> Session | None:
        """The outermost first: an agent that another one started is that one's."""
        found: Session | None = None
        parent: Session | None = None
        for stranger in reversed(agents):
            found = self.find(stranger)
            if found is None and self._may_be_one(stranger):
                found = await self._register(stranger, parent)
            parent = found or parent
        return found

    def _may_be_one(self, stranger: AdoptedGroup) -> bool:
        """Of this user; and not what has escaped a living session of ours, which it would be a part of twice."""
        marks = (proc.environment_of(stat.pid, MARK) for stat in stranger.processes)
        return stranger.is_own() and not any(mark in self.registry.live_sessions for mark in marks if mark)

    async def _register(self, stranger: AdoptedGroup, parent: Session | None) -> Session | None:
        place = await _place_of(stranger)
        owner = f"session:{parent.id}" if parent else OPERATOR.name
        name = free_name(self.registry, name_from(stranger.agent))
        session = self._session(stranger, place, name, stranger.kind(), owner, parent=parent)
        if not stranger.is_there():
            return None
        return await self.record(session, DAEMON, "register", agent=session.agent)

    async def _learn(self, session: Session, stranger: AdoptedGroup) -> None:
        conversation = stranger.conversation() if session.agent == stranger.agent else None
        if conversation is not None:
            await self.conversations.enter(session.id, conversation, why="its process")

    # -- what is adopted

    async def adopt(
        self, stranger: AdoptedGroup, name: str | None, kind: Kind, caller: Caller, key: str, target: str
    ) -> Session:
        """By somebody's word: these processes, and all below them, are one session from now on."""
        async with self._lock:
            self._check_apart(stranger, target)
            place = await _place_of(stranger)
            fallback = stranger.agent if stranger.agent != GENERIC else proc.name_of(stranger.main.pid) or "process"
            name = name or free_name(self.registry, name_from(fallback))
            session = self._session(stranger, place, name, kind, caller.name, key=key, adopted=True)
            if not stranger.is_there():
                raise ConflictError(
                    Code.ENDED, f"{target[:80]} has ended meanwhile", Hint(Use("ls"), " lists what runs")
                )
            return await self.record(session, caller, "adopt", target=target)

    def _check_apart(self, stranger: AdoptedGroup, target: str) -> None:
        """ADOPTED for what is in a session already, or has one below it: who ends one would end the other, however protected."""
        if (known := self.find(stranger)) is not None:
            raise adopted_already(target, known.id)
        above = {stat.key for one in stranger.processes for stat in proc.ancestors(one.pid)}
        for live in reversed(list(self.registry.live_sessions.values())):
            if not above.isdisjoint(beginnings(live.session) | live.roots):
                raise adopted_already(target, live.session.id)
            begun = [pid for pid, start in beginnings(live.session) if proc.is_alive(pid, start)]
            if any(stat.key in stranger.keys for pid in begun for stat in proc.ancestors(pid)):
                raise _above(target, live.session.id)

    # -- the session

    async def record(self, session: Session, by: Caller, action: str, **detail: Any) -> Session:
        """One that was there before us is one of ours from now on, and watched."""

        def also(db: sqlite3.Connection) -> None:
            Project(session.project_id or "/", session.project).see(db, session.created_at)
            if conversation := session.conversation.get("id"):
                aliases.turn_to(db, session.agent, conversation, session.id, session.created_at)

        live = LiveSession(session, panes=set(session.place.get("panes", ())))
        pid = session.main.pid if session.main else None
        await enrol(self.registry, live, by, action, also, files={}, pid=pid, **detail)
        keep_card(self.registry.folder(session.id), session)
        self.backends.recover(live)
        return session

    def _session(
        self,
        stranger: AdoptedGroup,
        place: _Place,
        name: str,
        kind: Kind,
        owner: str,
        *,
        parent: Session | None = None,
        key: str | None = None,
        adopted: bool = False,
    ) -> Session:
        now = self.registry.clock.now()
        main = stranger.main
        session = Session(
            id=new_id(self.registry, now),
            name=name,
            kind=kind,
            driver=Driver.REGISTERED,
            agent=stranger.agent,
            owner=owner,
            parent=parent.id if parent else None,
            command=stranger.command(),
            cwd=place.cwd,
            project=place.project.name,
            project_id=place.project.id,
            created_at=now,
            boot=self.registry.boot,
            # Nobody who started it knew of us: what it leaves behind when it exits by itself is not killed unasked.
            keep_children=True,
            key=key,
            facts=_facts(stranger, place, parent, adopted=adopted),
        )
        return session.started(min(now, proc.start_moment(main.start)), None, Process(main.pid, main.start))


def _facts(stranger: AdoptedGroup, place: _Place, parent: Session | None, *, adopted: bool) -> Facts:
    return Facts(
        processes=tuple(ProcessKey(*stat.key) for stat in stranger.processes),
        outer=tuple(stranger.outer_sessions()),
        terminal=stranger.terminal(),
        places=stranger.places(),
        line=(parent.id, parent.owner, *parent.line) if parent else (),
        adopted=adopted,
        conversation=first_of_agent(stranger.conversation()),
        head=place.commit,
    )


async def _place_of(stranger: AdoptedGroup) -> _Place:
    """A disk that hangs must not keep whoever speaks waiting: then the folder is the project."""
    cwd = stranger.folder()
    try:
        return await asyncio.to_thread(
            answered, cwd, lambda: _Place(cwd, identity_of(cwd), commit_of(cwd)), _FOLDER_SECONDS
        )
    except (TimeoutError, OSError):
        return _Place(cwd, Project(cwd, None), None)


def beginnings(session: Session) -> set[tuple[int, int]]:
    """The processes that a session without a holder began with: what is below them is its own."""
    if session.shim is not None:
        return set()
    found = {(pid, start) for pid, start in session.facts.processes}
    return found | {(session.main.pid, session.main.start)} if session.main else found


def _above(target: str, session: str) -> ConflictError:
    return ConflictError(
        Code.ADOPTED,
        f"session {session} runs below {target[:80]}, and would be ended with it",
        Hint(Use("show", session=session), " shows it; end it first, or leave the rest alone"),
        session=session,
    )


def adopted_already(target: str, session: str) -> ConflictError:
    return ConflictError(
        Code.ADOPTED,
        f"{target[:80]} belongs to session {session} already",
        Hint(Use("show", session=session), " shows it"),
        session=session,
    )
