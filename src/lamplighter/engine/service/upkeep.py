"""Upkeep: sockets, folders and files that somebody took away from under us are made again, by whoever they belong to.

A cleaner of temporary files, or logind at a logout, takes sockets away without a word. The daemon is awake now and then anyway
and looks; keeper and shims sleep, and are told. Knows what must be where; knows nothing of what it is for.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.errors import LampError
from lamplighter.holder import identity, places
from lamplighter.holder.credentials import lock_path
from lamplighter.holder.repair import make_room

log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_MOST_TOLD = 20


class Upkeep:
    """`remade` is what was made again, the latest last; `missing` what cannot be. `doors` make their own sockets again."""

    def __init__(self, registry: SessionRegistry, keeper: KeeperClient, lock: int | None) -> None:
        self.registry = registry
        self.keeper = keeper
        self.doors: list[Callable[[], list[str]]] = []
        self.lock = lock  # the daemon's own
        self.remade: list[str] = []
        self.missing: list[str] = []
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Somebody could not find us: look now."""
        self._wake.set()

    async def serve(self) -> None:
        """For as long as the daemon runs."""
        while True:
            try:
                await self.round()
            except Exception:  # a fault in one round must not end all the others
                log.exception("a round of the upkeep failed")
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), _LOOK_SECONDS)
            except TimeoutError:
                continue

    async def round(self) -> None:
        missing: list[str] = []
        for door in self.doors:
            try:
                self._tell(door())
            except OSError as error:
                missing.append(f"{error.filename}: {error.strerror}")
        self._keep_lock()
        home = self.registry.settings.home
        if not any(os.path.exists(f"{run}/keeper.sock") for run in places.runs(home.run, home.state)):
            await self._repair_keeper(missing)
        sockets = self._sockets()
        for live in list(self.registry.live_sessions.values()):
            if live.session.shim is not None:
                await self._look_after(live, sockets)
        if missing and missing != self.missing:
            log.error("cannot be made again: %s", ", ".join(missing))
        self.missing = missing

    async def _repair_keeper(self, missing: list[str]) -> None:
        try:
            self._tell(await self.keeper.repair())
        except (LampError, RefusedError) as error:
            missing.append(f"keeper.sock: {error}")

    def _sockets(self) -> set[str]:
        home, found = self.registry.settings.home, set[str]()
        for run in places.runs(home.run, home.state):
            try:
                found.update(os.listdir(f"{run}/s"))
            except OSError:
                continue
        return found

    async def _look_after(self, live: LiveSession, sockets: set[str]) -> None:
        """A shim of 0.1.0 does not know how to make its socket again, but needs none as long as there is a line to it; a folder
        it can only be given."""
        folder = self.registry.folder(live.session.id)
        whole = all(os.path.exists(f"{folder}/{name}") for name in ("birth.json", "meter"))
        if whole and f"{live.session.id}.sock" in sockets:
            return
        if os.path.exists(f"{folder}/exit.json"):
            return
        if not os.path.isdir(folder) and make_room(folder):
            self._tell([folder])
        if live.line is None or live.without_repair:
            return
        try:
            answer, _ = await live.line.ask("repair")
            self._tell(answer["remade"])
        except RefusedError:
            live.without_repair = True
        except LampError as error:
            log.warning("%s: %s", live.session.id, error)
        if live.meter is not None:
            live.meter.close()
            live.meter = None

    def _keep_lock(self) -> None:
        home = self.registry.settings.home
        path = lock_path(home.state, "daemon")
        if self.lock is not None and not identity.is_locked_by(self.lock, path):
            lock = identity.take_lock(path)
            if lock is not None:
                os.close(self.lock)
                self.lock = lock
                self._tell([path])

    def _tell(self, remade: list[str]) -> None:
        for path in remade:
            log.warning("%s was taken away, and is made again", path)
        self.remade = [*self.remade, *remade][-_MOST_TOLD:]
