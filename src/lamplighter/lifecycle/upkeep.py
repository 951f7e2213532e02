"""Upkeep: sockets, folders and files that somebody took away from under us are made again, by whoever they belong to.

A cleaner of temporary files, or logind at a logout, takes sockets away without a word. The daemon is awake now and then anyway
and looks; keeper and shims sleep, and are told. Knows what must be where; knows nothing of what it is for.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from lamplighter.errors import LampError
from lamplighter.holder import identity, places
from lamplighter.holder.credentials import lock_path
from lamplighter.holder.repair import make_room
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.line import RefusedError

log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_MOST_TOLD = 20


class Upkeep:
    """`remade` is what was made again, the latest last; `missing` what cannot be. `doors` make their own sockets again."""

    def __init__(self, fleet: Fleet, keeping: Keeping) -> None:
        self.fleet = fleet
        self.keeping = keeping
        self.doors: list[Callable[[], list[str]]] = []
        self.lock: int | None = None  # the daemon's own, once it has it
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
        home = self.fleet.settings.home
        if not any(os.path.exists(f"{run}/keeper.sock") for run in places.runs(home.run, home.state)):
            await self._repair_keeper(missing)
        sockets = self._sockets()
        for lamp in list(self.fleet.lamps.values()):
            if lamp.session.shim is not None and not lamp.session.traced and not lamp.session.logical:
                await self._look_after(lamp, sockets)
        if missing and missing != self.missing:
            log.error("cannot be made again: %s", ", ".join(missing))
        self.missing = missing

    async def _repair_keeper(self, missing: list[str]) -> None:
        try:
            self._tell(await self.keeping.repair())
        except (LampError, RefusedError) as error:
            missing.append(f"keeper.sock: {error}")

    def _sockets(self) -> set[str]:
        home, found = self.fleet.settings.home, set[str]()
        for run in places.runs(home.run, home.state):
            try:
                found.update(os.listdir(f"{run}/s"))
            except OSError:
                continue
        return found

    async def _look_after(self, lamp: Lamp, sockets: set[str]) -> None:
        """A shim of 0.1.0 does not know how to make its socket again, but needs none as long as there is a line to it; a folder
        it can only be given."""
        folder = self.fleet.folder(lamp.session.id)
        whole = all(os.path.exists(f"{folder}/{name}") for name in ("birth.json", "meter"))
        if whole and f"{lamp.session.id}.sock" in sockets:
            return
        if os.path.exists(f"{folder}/exit.json"):
            return
        if not os.path.isdir(folder) and make_room(folder):
            self._tell([folder])
        if lamp.line is None or lamp.without_repair:
            return
        try:
            answer, _ = await lamp.line.ask("repair")
            self._tell(answer["remade"])
        except RefusedError:
            lamp.without_repair = True
        except LampError as error:
            log.warning("%s: %s", lamp.session.id, error)
        if lamp.meter is not None:
            lamp.meter.close()
            lamp.meter = None

    def _keep_lock(self) -> None:
        home = self.fleet.settings.home
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
