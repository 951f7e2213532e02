"""Enrolment: what lives and is not in the store, because that was lost, becomes a session in it again.

Found by what the keeper holds, by the cards and birth files in the sessions' folders, and, where a card is missing, by the
processes themselves; where nothing else is left, by the mark that each of a session's processes bears.
How each is watched or ended from then on is `watch`'s, as for every other.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from dataclasses import replace
from typing import Any

from lamplighter.agents import program_name
from lamplighter.domain.counting import counted
from lamplighter.domain.name import ID_LENGTH, make_id
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import State
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.files import read_json
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.lifecycle.recovery.cards import has_card, keep_card, read_card
from lamplighter.lifecycle.recovery.marks import Marked, find_marked
from lamplighter.line import RefusedError
from lamplighter.store import events, losses, sessions
from lamplighter.store.losses import Loss

log = logging.getLogger(__name__)
_MOST_ENDED = 200  # sessions of which there are but files: the newest
_LETTERS = frozenset("0123456789abcdefghjkmnpqrstvwxyz")


class Enrolment:
    def __init__(self, fleet: Fleet, keeping: Keeping) -> None:
        self.fleet = fleet
        self.keeping = keeping

    async def run(self) -> None:
        """Before anything is reconciled. Safe to repeat: it is due until its transaction is done."""
        held = await self._held()
        unknown = [one for one in held if one not in self.fleet.lamps]
        known = await self.fleet.store.read(lambda db: sessions.known(db, unknown))
        missing = {one: held[one] for one in unknown if one not in known}
        due = await self.fleet.store.read(losses.enrolment_is_due)
        # A store in which nothing ever was may be what came after one of which not even a folder is left.
        marked = await self._marked() if missing or due or not self.fleet.last_id else {}
        if (missing or marked) and not due:
            await self._lost_unseen(len(missing.keys() | marked.keys()))
        if missing or marked or due:
            await self._enrol(missing, marked)
        await asyncio.to_thread(self._complete_cards)

    async def _marked(self) -> dict[str, Marked]:
        found = await asyncio.to_thread(find_marked, self.fleet.settings.home)
        known = await self.fleet.store.read(lambda db: sessions.known(db, list(found)))
        return {one: found[one] for one in found.keys() - known if self._is_id(one)}

    async def _held(self) -> dict[str, dict[str, Any]]:
        try:
            return await self.keeping.held()
        except (LampError, RefusedError) as error:
            log.error("the keeper cannot be asked what it holds: %s", error)
            return {}

    async def _lost_unseen(self, count: int) -> None:
        """The store looked like a first one, but sessions run that it does not know."""
        loss = Loss.now(
            f"{self.fleet.store.path} does not know {counted(count, 'session')} that {'runs' if count == 1 else 'run'}",
            None,
        )
        log.critical("the store was lost: %s", loss.why)

        def write(db: sqlite3.Connection) -> None:
            losses.begin_epoch(db, loss, self.fleet.boot)
            losses.note(db, loss)

        await self.fleet.store.write(write, must=True)

    async def _enrol(self, held: dict[str, dict[str, Any]], marked: dict[str, Marked]) -> None:
        folders = await asyncio.to_thread(self._folders)
        known = await self.fleet.store.read(lambda db: sessions.known(db, folders))
        found = await asyncio.to_thread(self._find, held, [one for one in folders if one not in known])
        alone = marked.keys() - {session.id for session in found}
        found += [await asyncio.to_thread(self._by_mark, session, marked[session]) for session in alone]
        named = [self._named(session) for session in sorted(found, key=lambda each: each.id)]
        last = max([self.fleet.last_id, *folders, *held, *marked])
        now = self.fleet.clock.now()

        def write(db: sqlite3.Connection) -> None:
            for session in named:
                if sessions.insert(db, session):
                    events.append(db, now, session.id, DAEMON.name, "enrolled", name=session.name)
            sessions.keep_last_id(db, last)
            losses.enrolled(db)

        await self.fleet.store.write(write, must=True)
        self.fleet.last_id = last
        for session in named:
            self.fleet.put(session)
        log.critical("%d sessions are enrolled again: %s", len(named), ", ".join(each.name for each in named[:20]))

    def _named(self, session: Session) -> Session:
        """With a name that nobody living has, which is its own from now on."""
        base, number, name = session.name, 2, session.name
        while name in self.fleet.names:
            name, number = f"{base}-{number}", number + 1
        self.fleet.names[name] = session.id
        return replace(session, name=name)

    # -- what there is on this machine

    def _folders(self) -> list[str]:
        return sorted(filter(self._is_id, os.listdir(os.path.dirname(self.fleet.folder("x")))))

    def _is_id(self, name: str) -> bool:
        ahead = make_id(self.fleet.clock.now() + 86400.0, "")
        return len(name) == ID_LENGTH and set(name) <= _LETTERS and name < ahead

    def _find(self, held: dict[str, dict[str, Any]], folders: list[str]) -> list[Session]:
        found: dict[str, Session] = {}
        for session, document in held.items():
            os.makedirs(self.fleet.folder(session), mode=0o700, exist_ok=True)  # its end is written there
            found[session] = read_card(self.fleet.folder(session)) or self._by_process(session, document["shim"])
        ended = 0
        for session in sorted(set(folders) - set(held), reverse=True):
            folder = self.fleet.folder(session)
            birth = read_json(f"{folder}/birth.json") or {}
            living = any(pair and proc.is_alive(*pair) for pair in (birth.get("shim"), birth.get("main")))
            card = read_card(folder)
            if not living:
                ended += 1
            if card is not None and (living or ended <= _MOST_ENDED):
                found[session] = card
            elif living:
                found[session] = self._by_process(session, birth["shim"], birth["main"])
        return list(found.values())

    def _by_mark(self, session: str, marked: Marked) -> Session:
        """One that nobody holds any more, nor can, goes on, known by its processes alone, until somebody ends it."""
        os.makedirs(self.fleet.folder(session), mode=0o700, exist_ok=True)
        main, shim = list(marked.main.key), marked.shim
        if shim is not None:
            return self._by_process(session, list(shim.key), main)
        found = self._by_process(session, [], main)
        facts = {**found.facts, "adopted": True, "processes": [list(stat.key) for stat in marked.processes]}
        return replace(found, driver=Driver.REGISTERED, keep_children=True, facts=facts)

    def _by_process(self, session: str, shim: list[int], main: list[int] | None = None) -> Session:
        """One without a card: what its command's process says of it. The shim's greeting says the rest."""
        pid = main[0] if main else _only_child(shim[0])
        environment = _environment(pid)
        command = _command(pid) or ("?",)
        now = self.fleet.clock.now()
        return Session(
            id=session,
            name=environment.get("LAMPLIGHTER_NAME") or session,
            kind=Kind.TASK,
            driver=_driver(pid),
            owner="operator",
            command=command,
            cwd=_link(pid, "cwd") or "/",
            created_at=now,
            boot=self.fleet.boot,
            agent=program_name(command),
            state=State.RUNNING if main else State.STARTING,
            started_at=now if main else None,
            main=Process(*main) if main else None,
            shim=Process(*shim) if main and shim else None,
            facts={"enrolled": True},
        )

    def _complete_cards(self) -> None:
        """Those of before there were cards."""
        for lamp in list(self.fleet.lamps.values()):
            folder = self.fleet.folder(lamp.session.id)
            if not has_card(folder) and os.path.isdir(folder):
                keep_card(folder, lamp.session)


def _only_child(shim: int) -> int:
    try:
        with open(f"/proc/{shim}/task/{shim}/children") as file:
            return int((file.read().split() or ["0"])[0])
    except OSError:
        return 0


def _environment(pid: int) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in _entries(pid, "environ"))
    return {name: value for name, _, value in pairs}


def _command(pid: int) -> tuple[str, ...]:
    return tuple(_entries(pid, "cmdline"))


def _entries(pid: int, name: str) -> list[str]:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return [entry.decode(errors="replace") for entry in file.read().split(b"\0") if entry]
    except OSError:
        return []


def _driver(pid: int) -> Driver:
    return Driver.TERMINAL if (_link(pid, "fd/0") or "").startswith("/dev/pts/") else Driver.HEADLESS


def _link(pid: int, name: str) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return None
