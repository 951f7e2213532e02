"""Taking a tmux session that was made by hand under management: known, watched and to be ended from now on, and not touched.

Knows what tmux shows and how a session is recorded; who may is not asked here.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from typing import Any

from lamplighter.agents import program_name
from lamplighter.domain.name import check_name, make_id, name_from
from lamplighter.domain.permission import OPERATOR, Caller
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.errors import Code, ConflictError, InputError, MissingError, UnavailableError
from lamplighter.holder import proc
from lamplighter.holder.tree import MARK
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.multiplexers import HandMade, Multiplexers
from lamplighter.lifecycle.projects import Project, identity_of
from lamplighter.lifecycle.traced import Traced
from lamplighter.store import events, sessions

_PREFIX = "tmux:"
_PATIENCE_SECONDS = 4.0


class Adoption:
    def __init__(self, fleet: Fleet, multiplexers: Multiplexers, traced: Traced) -> None:
        self.fleet = fleet
        self.multiplexers = multiplexers
        self.traced = traced

    async def adopt(
        self, target: str, name: str | None, kind: Kind, caller: Caller, key: str, *, repeated: bool
    ) -> Session:
        """One transaction, so that a crash leaves it adopted or not. `repeated`: the key may have done it before."""
        again = await self.fleet.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return await self.fleet.now(again)
        wanted = check_name(name) if name is not None else None
        if not target.startswith(_PREFIX) or target == _PREFIX:
            raise InputError(
                Code.BAD_INPUT,
                f"{target[:60]!a} does not say what to adopt",
                "name a tmux session as lamp ls shows it, such as tmux:work",
            )
        # From here to the record nothing is waited for but the store: two who adopt it at once cannot both find it free.
        made = self._find(target, await self.multiplexers.look(0.0, _PATIENCE_SECONDS))
        session = self._session(made, wanted or self._free_name(made.first.session), kind, caller, key)
        await self._record(session, caller, target)
        self.traced.find(self.fleet.lamps[session.id])
        return session

    async def take(self, made: HandMade, by: Caller, key: str) -> Session:
        """For whoever may do to it what can only be done to a session of ours. It stays the operator's. `made` was seen just now,
        and nothing was waited for since."""
        self._refuse_ours(made, made.id)
        session = self._session(made, self._free_name(made.first.session), Kind.TASK, OPERATOR, key)
        await self._record(session, by, made.id)
        self.traced.find(self.fleet.lamps[session.id])
        return session

    def _find(self, target: str, seen: dict[str, Any]) -> HandMade:
        """As it is now, all of its panes strangers; NOT_FOUND, AMBIGUOUS or ADOPTED when not."""
        every = self.multiplexers.all_sessions(seen)
        found = [made for made in every if made.id == target]
        if not found:
            near = ", ".join(made.id for made in self.multiplexers.strangers(seen)[:5])
            raise MissingError(
                Code.NOT_FOUND,
                f"there is no tmux session {target[:80]!a}",
                f"lamp ls lists those made by hand: {near}" if near else "tmux ls lists what your tmux has",
            )
        if len(found) > 1:
            raise MissingError(
                Code.AMBIGUOUS,
                f"{target[:80]} is a session of more than one tmux server",
                "give one of them another name with tmux rename-session",
            )
        self._refuse_ours(found[0], target)
        return found[0]

    def _refuse_ours(self, made: HandMade, target: str) -> None:
        ours = self.multiplexers.ours(made.socket, made.first.server)
        owners = sorted({ours[pane.id] for pane in made.panes if pane.id in ours})
        if owners:
            raise ConflictError(
                Code.ADOPTED,
                f"{target[:80]} belongs to session {owners[0]} already",
                f"lamp show {owners[0]} shows it",
                session=owners[0],
            )

    def _session(self, made: HandMade, name: str, kind: Kind, caller: Caller, key: str) -> Session:
        now = self.fleet.clock.now()
        pane = next((pane for pane in made.panes if not pane.dead), made.first)
        main, server = proc.read_stat(pane.pid), proc.start_of(pane.server)
        if pane.dead or main is None or main.parent != pane.server or server is None:
            raise ConflictError(
                Code.ENDED, f"nothing runs any more in {made.id}", "tmux kill-session ends what is left of it"
            )
        command = _words(pane.pid) or (pane.command,)
        project = identity_of(pane.cwd or "/")
        self.fleet.last_id = make_id(now, self.fleet.last_id)
        tmux = {
            "socket": made.socket,
            "session": pane.session,
            "id": pane.session_id,
            "pane": pane.id,
            "panes": sorted({one.id for one in made.panes}),
            "server": [pane.server, server],
            "mark": proc.environment_of(pane.server, MARK),
        }
        session = Session(
            id=self.fleet.last_id,
            name=name,
            kind=kind,
            driver=Driver.TMUX,
            agent=program_name(command),
            owner=caller.name,
            command=command,
            cwd=pane.cwd or "/",
            project=project.name,
            project_id=project.id,
            created_at=now,
            boot=self.fleet.boot,
            # Nobody who started it knew of us: what it leaves behind when it exits by itself is not killed unasked.
            keep_children=True,
            key=key,
            facts={"tmux": tmux, "adopted": True},
        )
        return session.started(min(now, float(pane.created or now)), None, Process(main.pid, main.start))

    async def _record(self, session: Session, caller: Caller, target: str) -> None:
        def write(db: sqlite3.Connection) -> Any:
            if not sessions.insert(db, session):
                return None
            sessions.keep_last_id(db, session.id)
            Project(session.project_id or "/", session.project).see(db, session.created_at)
            detail = {"name": session.name, "target": target, "pid": session.main.pid if session.main else None}
            return events.append(db, session.created_at, session.id, caller.name, "adopt", **detail)

        if session.name in self.fleet.names:
            raise _name_taken(session.name, self.fleet.names[session.name])
        lamp = self.fleet.put(session)  # before the store answers, so that it is adopted and named once
        lamp.panes = set(session.facts["tmux"]["panes"])
        folder = self.fleet.folder(session.id)
        try:
            _make(folder)
            if await self.fleet.store.write(write) is None:
                raise _name_taken(session.name, "another session")
        except BaseException:
            self.fleet.remove(session.id)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.fleet.announce()

    def _free_name(self, text: str) -> str:
        base, number = name_from(text), 2
        name = base
        while name in self.fleet.names:
            name, number = f"{base}-{number}", number + 1
        return name


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700)
    except OSError as error:
        raise UnavailableError(
            Code.DISK_FULL, f"nothing can be written to {folder}", "make room on the disk and try again"
        ) from error


def _name_taken(name: str, by: str) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN, f"a living session is called {name} already: {by}", "choose another with --name"
    )


def _words(pid: int) -> tuple[str, ...]:
    """Its command line, word by word."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            raw = file.read(1 << 16)
    except OSError:
        return ()
    return tuple(raw.rstrip(b"\0").decode(errors="replace").split("\0")) if raw else ()
