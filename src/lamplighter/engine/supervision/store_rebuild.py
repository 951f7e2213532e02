"""Rebuilding the store: what lives and is not in it, because it was lost, becomes a session in it again.

Found by what the keeper holds, by the cards and birth files in the sessions' folders, and, where a card is missing, by the
processes themselves; where nothing else is left, by the mark that each of a session's processes bears.
How each is watched or ended from then on is `watch`'s, as for every other.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lamplighter.agents import program_name
from lamplighter.domain.facts import Facts, ProcessKey
from lamplighter.domain.name import ID_LENGTH, make_id
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import Running, Starting
from lamplighter.domain.text.plural import counted
from lamplighter.engine.core.enrol import enrol_again
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.session_card import has_card, keep_card, read_card
from lamplighter.engine.supervision.marked_processes import MarkedSession, find_marked
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.files import read_json
from lamplighter.holder.lineage import children_of
from lamplighter.store import losses, sessions
from lamplighter.store.losses import Loss

log = logging.getLogger(__name__)
_MOST_ENDED = 200  # sessions of which there are but files: the newest
_LETTERS = frozenset("0123456789abcdefghjkmnpqrstvwxyz")


class StoreRebuild:
    def __init__(self, registry: SessionRegistry, keeper: KeeperClient) -> None:
        self.registry = registry
        self.keeper = keeper

    async def run(self) -> None:
        """Before anything is reconciled. Safe to repeat: it is due until its transaction is done."""
        held = await self._held()
        unknown = [one for one in held if one not in self.registry.live_sessions]
        known = await self.registry.store.read(lambda db: sessions.known(db, unknown))
        missing = {one: held[one] for one in unknown if one not in known}
        due = await self.registry.store.read(losses.enrolment_is_due)
        # A store in which nothing ever was may be what came after one of which not even a folder is left.
        marked = await self._marked() if missing or due or not self.registry.last_id else {}
        if (missing or marked) and not due:
            await self._lost_unseen(len(missing.keys() | marked.keys()))
        if missing or marked or due:
            await self._enrol(missing, marked)
        await asyncio.to_thread(self._complete_cards)

    async def _marked(self) -> dict[str, MarkedSession]:
        found = await asyncio.to_thread(find_marked, self.registry.settings.home)
        known = await self.registry.store.read(lambda db: sessions.known(db, list(found)))
        return {one: found[one] for one in found.keys() - known if self._is_id(one)}

    async def _held(self) -> dict[str, dict[str, Any]]:
        try:
            return await self.keeper.held()
        except (LampError, RefusedError) as error:
            log.error("the keeper cannot be asked what it holds: %s", error)
            return {}

    async def _lost_unseen(self, count: int) -> None:
        """The store looked like a first one, but sessions run that it does not know."""
        loss = Loss.now(
            f"{self.registry.store.path} does not know {counted(count, 'session')} that {'runs' if count == 1 else 'run'}",
            None,
        )
        log.critical("the store was lost: %s", loss.why)

        def write(db: sqlite3.Connection) -> None:
            losses.begin_epoch(db, loss, self.registry.boot)
            losses.note(db, loss)

        await self.registry.store.write(write, must=True)

    async def _enrol(self, held: dict[str, dict[str, Any]], marked: dict[str, MarkedSession]) -> None:
        folders = await asyncio.to_thread(self._folders)
        known = await self.registry.store.read(lambda db: sessions.known(db, folders))
        found = await asyncio.to_thread(self._find, held, [one for one in folders if one not in known])
        alone = marked.keys() - {session.id for session in found}
        found += [await asyncio.to_thread(self._by_mark, session, marked[session]) for session in alone]
        named = await enrol_again(self.registry, found, max([self.registry.last_id, *folders, *held, *marked]))
        log.critical("%d sessions are enrolled again: %s", len(named), ", ".join(each.name for each in named[:20]))

    # -- what there is on this machine

    def _folders(self) -> list[str]:
        return sorted(filter(self._is_id, os.listdir(os.path.dirname(self.registry.folder("x")))))

    def _is_id(self, name: str) -> bool:
        ahead = make_id(self.registry.clock.now() + 86400.0, "")
        return len(name) == ID_LENGTH and set(name) <= _LETTERS and name < ahead

    def _find(self, held: dict[str, dict[str, Any]], folders: list[str]) -> list[Session]:
        found: dict[str, Session] = {}
        for session, document in held.items():
            os.makedirs(self.registry.folder(session), mode=0o700, exist_ok=True)  # its end is written there
            found[session] = read_card(self.registry.folder(session)) or self._by_process(session, document["shim"])
        ended = 0
        for session in sorted(set(folders) - set(held), reverse=True):
            folder = self.registry.folder(session)
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

    def _by_mark(self, session: str, marked: MarkedSession) -> Session:
        """One that nobody holds any more, nor can, goes on, known by its processes alone, until somebody ends it."""
        os.makedirs(self.registry.folder(session), mode=0o700, exist_ok=True)
        main, shim = list(marked.main.key), marked.shim
        if shim is not None:
            return self._by_process(session, list(shim.key), main)
        found = self._by_process(session, [], main)
        begun = tuple(ProcessKey(*stat.key) for stat in marked.processes)
        facts = replace(found.facts, adopted=True, processes=begun)
        return replace(found, driver=Driver.REGISTERED, keep_children=True, facts=facts)

    def _by_process(self, session: str, shim: list[int], main: list[int] | None = None) -> Session:
        """One without a card: what its command's process says of it. The shim's greeting says the rest."""
        pid = main[0] if main else next(iter(children_of(shim[0])), 0)
        command = tuple(proc.words_of(pid)) or ("?",)
        now = self.registry.clock.now()
        return Session(
            id=session,
            name=proc.environment_of(pid, "LAMPLIGHTER_NAME") or session,
            kind=Kind.TASK,
            driver=_driver(pid),
            owner="operator",
            command=command,
            cwd=proc.folder_of(pid) or "/",
            created_at=now,
            boot=self.registry.boot,
            agent=program_name(command),
            state=Running() if main else Starting(),
            started_at=now if main else None,
            main=Process(*main) if main else None,
            shim=Process(*shim) if main and shim else None,
            facts=Facts(enrolled=True),
        )

    def _complete_cards(self) -> None:
        """Those of before there were cards."""
        for live in list(self.registry.live_sessions.values()):
            folder = self.registry.folder(live.session.id)
            if not has_card(folder) and os.path.isdir(folder):
                keep_card(folder, live.session)


def _driver(pid: int) -> Driver:
    with suppress(OSError):
        if os.readlink(f"/proc/{pid}/fd/0").startswith("/dev/pts/"):
            return Driver.TERMINAL
    return Driver.HEADLESS
