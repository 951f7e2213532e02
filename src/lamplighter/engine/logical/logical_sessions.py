"""Sessions without a process of ours: an agent tells of itself, and each word renews the lease that it is alive by.

Starting is one transaction, as nothing is born; ending is the ender's, as for every other. Knows the registry and leases; who
may is not asked here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any
from weakref import WeakValueDictionary

from lamplighter.domain.ending import Guarantee, How, Intent
from lamplighter.domain.facts import Facts, ProcessKey
from lamplighter.domain.lease import Lease
from lamplighter.domain.name import name_from
from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.states import Running
from lamplighter.engine.core.enrol import Claim, enrol, free_name, new_id
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.memory.projects import Project
from lamplighter.engine.start.checks import check_folder
from lamplighter.engine.start.launcher import Launcher
from lamplighter.errors import UnavailableError
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import aliases, sessions

log = logging.getLogger(__name__)
EXPIRED = "its lease ran out"
Also = Callable[[sqlite3.Connection], Any]


@dataclass(frozen=True)
class Announcement:
    """What an agent tells of itself. `name` is made fit to be one, and free; `told` is kept as it is; `shared` are names in
    others' namespaces that several sessions may have, such as the id of the agent behind all of them. A successor is about
    what its predecessor was about."""

    name: str
    kind: Kind = Kind.TASK
    agent: str = "generic"
    cwd: str | None = None
    project: str | None = None
    lease: float | None = None
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shared: Mapping[str, str] = field(default_factory=dict[str, str])
    predecessor: Session | None = None
    inherits: tuple[str, ...] = ()


class LogicalSessions:
    def __init__(self, registry: SessionRegistry, launcher: Launcher, ender: Ender) -> None:
        self.registry = registry
        self.launcher = launcher
        self.ender = ender
        self._closing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def closing(self, session: str) -> asyncio.Lock:
        """Held by whoever closes it: of several at once the first has its last word, and the others see that it had."""
        return self._closing.setdefault(session, asyncio.Lock())

    async def start(
        self, announced: Announcement, caller: Caller, key: str, *, repeated: bool, claim: Claim | None = None
    ) -> Session:
        """It runs from now on. `claim` is given its id in the same transaction, and what it raises undoes all of it."""
        again = await self.registry.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return await self.registry.now(again)
        cwd = check_folder(announced.cwd)
        parent = await self.launcher.admission.parent_for(None, caller)
        self.launcher.admission.check_count(caller)
        project = await self.launcher.projects.of_start(cwd, announced.project)
        session = self._session(announced, cwd, project, parent, caller, key)

        def also(db: sqlite3.Connection) -> None:
            for namespace, value in announced.shared.items():
                aliases.share(db, namespace, value, session.id, session.created_at)
            project.see(db, session.created_at)

        live = LiveSession(session, guarantee=Guarantee.BEST_EFFORT.value)
        detail: dict[str, Any] = {"predecessor": session.predecessor} if session.predecessor else {}
        driver = session.driver.value
        await enrol(self.registry, live, caller, "start", also, claim=claim, driver=driver, **detail)
        return session

    def _session(
        self, announced: Announcement, cwd: str, project: Project, parent: Session | None, caller: Caller, key: str
    ) -> Session:
        now = self.registry.moment()
        lease = Lease(announced.lease or self.registry.settings.lease, now)
        line = [parent.id, parent.owner, *parent.line] if parent else []
        made = Session(
            id=new_id(self.registry, now.wall),
            name=free_name(self.registry, name_from(announced.name)),
            kind=announced.kind,
            driver=Driver.LOGICAL,
            owner=caller.name,
            command=(),
            cwd=cwd,
            created_at=now.wall,
            boot=self.registry.boot,
            agent=announced.agent,
            parent=parent.id if parent else None,
            project=project.name,
            project_id=project.id,
            key=key,
            facts=Facts(
                line=tuple(line),
                inherits=tuple(announced.inherits),
                teller=_teller(parent),
                lease=lease,
                told=dict(announced.told),
            ),
        )
        return _after(announced.predecessor, made).started(now.wall, None, None)

    async def speak(
        self, session: Session, by: Caller, action: str, also: Also | None = None, **detail: Any
    ) -> Session | None:
        """It was heard of: its lease begins anew. None when it does not run any more."""

        def become(before: Session) -> Session | None:
            lease = before.lease
            if lease is None or not isinstance(before.state, Running):
                return None
            renewed = replace(lease, spoke=self.registry.moment())
            return replace(before, facts=replace(before.facts, lease=renewed))

        return await self.registry.change(session.id, by, action, become, also, **detail)

    async def take_over(self, session: Session, by: Caller) -> Session | None:
        """It belongs to another caller from now on, who was heard of. None when it does not run any more."""

        def become(before: Session) -> Session | None:
            lease = before.lease
            if lease is None or not isinstance(before.state, Running):
                return None
            renewed = replace(lease, spoke=self.registry.moment())
            return replace(before, owner=by.name, facts=replace(before.facts, teller=None, lease=renewed))

        return await self.registry.change(session.id, by, "resumed", become, owner=session.owner)

    # -- the patrol's

    async def expire(self) -> None:
        """End those that have not spoken for as long as their lease; a protected one stays."""
        for live in list(self.registry.live_sessions.values()):
            if not self._is_over(live.session):
                continue
            try:
                await self._expire(live.session.id)
            except UnavailableError as error:
                log.error("the lease of %s ran out and its end has to wait: %s", live.session.id, error)

    async def _expire(self, session: str) -> None:
        intent = Intent(DAEMON.name, EXPIRED, How.LOST, 0.0, self.registry.clock.now())

        def become(before: Session) -> Session | None:
            # It may have spoken since it was looked at.
            return before.to_end(intent) if self._is_over(before) else None

        if await self.registry.change(session, DAEMON, "expire", become, reason=EXPIRED) is not None:
            self.ender.carry_out(session)

    def _is_over(self, session: Session) -> bool:
        lease = session.lease
        if lease is None or not isinstance(session.state, Running) or session.protected:
            return False
        return lease.is_over(self.registry.moment())


def _teller(parent: Session | None) -> ProcessKey | None:
    """The process of the agent that tells of this one, where that agent is known by its process alone."""
    known = parent.main if parent is not None and parent.in_foreign_terminal else None
    return ProcessKey(known.pid, known.start) if known else None


def _after(before: Session | None, made: Session) -> Session:
    if before is None:
        return made
    return replace(made, predecessor=before.id, project=before.project, project_id=before.project_id)
