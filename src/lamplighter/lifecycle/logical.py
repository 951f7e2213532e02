"""Sessions without a process of ours: an agent tells of itself, and each word renews the lease that it is alive by.

Starting is one transaction, as nothing is born; ending is the undertaker's, as for every other. Knows the fleet and leases; who
may is not asked here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from lamplighter.domain.ending import Guarantee, How, Intent
from lamplighter.domain.lease import Lease
from lamplighter.domain.name import make_id, name_from
from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.states import State
from lamplighter.errors import UnavailableError
from lamplighter.lifecycle.continuity.projects import Project
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.launch.admission import name_taken
from lamplighter.lifecycle.launch.launcher import Launcher
from lamplighter.lifecycle.launch.preconditions import check_folder
from lamplighter.lifecycle.stop import Undertaker
from lamplighter.store import aliases, events, sessions

log = logging.getLogger(__name__)
EXPIRED = "its lease ran out"
Also = Callable[[sqlite3.Connection], Any]
Claim = Callable[[sqlite3.Connection, str], None]


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


class Logical:
    def __init__(self, fleet: Fleet, launcher: Launcher, undertaker: Undertaker) -> None:
        self.fleet = fleet
        self.launcher = launcher
        self.undertaker = undertaker
        self._closing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def closing(self, session: str) -> asyncio.Lock:
        """Held by whoever closes it: of several at once the first has its last word, and the others see that it had."""
        return self._closing.setdefault(session, asyncio.Lock())

    async def start(
        self, announced: Announcement, caller: Caller, key: str, *, repeated: bool, claim: Claim | None = None
    ) -> Session:
        """It runs from now on. `claim` is given its id in the same transaction, and what it raises undoes all of it."""
        again = await self.fleet.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return await self.fleet.now(again)
        cwd = check_folder(announced.cwd)
        parent = await self.launcher.admission.parent_for(None, caller)
        self.launcher.admission.check_count(caller)
        project = await self.launcher.projects.of_start(cwd, announced.project)
        session = self._session(announced, cwd, project, parent, caller, key)
        await self._record(session, project, announced, caller, claim)
        return session

    def _session(
        self, announced: Announcement, cwd: str, project: Project, parent: Session | None, caller: Caller, key: str
    ) -> Session:
        now = self.fleet.moment()
        lease = Lease(announced.lease or self.fleet.settings.lease, now)
        line = [parent.id, parent.owner, *parent.line] if parent else []
        known = {"line": line, "inherits": list(announced.inherits), "teller": _teller(parent)}
        self.fleet.last_id = make_id(now.wall, self.fleet.last_id)
        made = Session(
            id=self.fleet.last_id,
            name=self.launcher.admission.free_name(name_from(announced.name)),
            kind=announced.kind,
            driver=Driver.LOGICAL,
            owner=caller.name,
            command=(),
            cwd=cwd,
            created_at=now.wall,
            boot=self.fleet.boot,
            agent=announced.agent,
            parent=parent.id if parent else None,
            project=project.name,
            project_id=project.id,
            key=key,
            facts={
                **{name: value for name, value in known.items() if value},
                "lease": lease.document(),
                "told": dict(announced.told),
            },
        )
        return _after(announced.predecessor, made).started(now.wall, None, None)

    async def _record(
        self, session: Session, project: Project, announced: Announcement, caller: Caller, claim: Claim | None
    ) -> None:
        def write(db: sqlite3.Connection) -> None:
            if claim is not None:
                claim(db, session.id)
            if not sessions.insert(db, session):
                raise name_taken(session.name, "another session")
            for namespace, value in announced.shared.items():
                aliases.share(db, namespace, value, session.id, session.created_at)
            sessions.keep_last_id(db, session.id)
            project.see(db, session.created_at)
            detail: dict[str, Any] = {"name": session.name, "driver": session.driver.value}
            if session.predecessor:
                detail["predecessor"] = session.predecessor
            events.append(db, session.created_at, session.id, caller.name, "start", **detail)

        lamp = self.fleet.put(session)  # before the store answers, so that two at once cannot both find the name free
        lamp.guarantee = Guarantee.BEST_EFFORT.value
        try:
            await self.fleet.store.write(write)
        except BaseException:
            self.fleet.remove(session.id)
            raise
        self.fleet.announce()

    async def speak(
        self, session: Session, by: Caller, action: str, also: Also | None = None, **detail: Any
    ) -> Session | None:
        """It was heard of: its lease begins anew. None when it does not run any more."""

        def become(before: Session) -> Session | None:
            lease = before.lease
            if lease is None or before.state is not State.RUNNING:
                return None
            renewed = replace(lease, spoke=self.fleet.moment())
            return replace(before, facts={**before.facts, "lease": renewed.document()})

        return await self.fleet.change(session.id, by, action, become, also, **detail)

    async def take_over(self, session: Session, by: Caller) -> Session | None:
        """It belongs to another caller from now on, who was heard of. None when it does not run any more."""

        def become(before: Session) -> Session | None:
            lease = before.lease
            if lease is None or before.state is not State.RUNNING:
                return None
            renewed = replace(lease, spoke=self.fleet.moment())
            kept = {name: value for name, value in before.facts.items() if name != "teller"}
            return replace(before, owner=by.name, facts={**kept, "lease": renewed.document()})

        return await self.fleet.change(session.id, by, "resumed", become, owner=session.owner)

    # -- the patrol's

    async def expire(self) -> None:
        """End those that have not spoken for as long as their lease; a protected one stays."""
        for lamp in list(self.fleet.lamps.values()):
            if not self._is_over(lamp.session):
                continue
            try:
                await self._expire(lamp.session.id)
            except UnavailableError as error:
                log.error("the lease of %s ran out and its end has to wait: %s", lamp.session.id, error)

    async def _expire(self, session: str) -> None:
        intent = Intent(DAEMON.name, EXPIRED, How.LOST, 0.0, self.fleet.clock.now())

        def become(before: Session) -> Session | None:
            # It may have spoken since it was looked at.
            return before.to_end(intent) if self._is_over(before) else None

        if await self.fleet.change(session, DAEMON, "expire", become, reason=EXPIRED) is not None:
            self.undertaker.carry_out(session)

    def _is_over(self, session: Session) -> bool:
        lease = session.lease
        if lease is None or session.state is not State.RUNNING or session.protected:
            return False
        return lease.is_over(self.fleet.moment())


def _teller(parent: Session | None) -> list[int]:
    """The process of the agent that tells of this one, where that agent is known by its process alone."""
    known = parent is not None and parent.driver is Driver.REGISTERED and parent.main
    return [known.pid, known.start] if known else []


def _after(before: Session | None, made: Session) -> Session:
    if before is None:
        return made
    return replace(made, predecessor=before.id, project=before.project, project_id=before.project_id)
