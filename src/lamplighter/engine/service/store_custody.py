"""Custody of the store's files: told by the kernel when somebody touches them, and a snapshot of them every so often.

Knows when to look and when to copy; how is the store's.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import sqlite3
import time

from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.errors import LampError
from lamplighter.store import losses
from lamplighter.store.connection import DamagedError
from lamplighter.store.losses import Epoch, Loss

log = logging.getLogger(__name__)
_SNAPSHOT_SECONDS = 600.0
_TOUCHED = 0x00000002 | 0x00000040 | 0x00000080 | 0x00000200 | 0x00000400 | 0x00000800
"""IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF."""
_GONE = _TOUCHED & ~0x00000002
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class Custody:
    def __init__(self, registry: SessionRegistry, tasks: Tasks) -> None:
        self.registry = registry
        self.tasks = tasks
        self.epoch = Epoch()
        self._watch = -1
        self._looking = False
        registry.store.on_made_again.append(lambda _why: registry.announce())

    async def begin(self) -> None:
        """Once the store is open and what lives is enrolled."""
        self.epoch = await self.registry.store.read(losses.epoch)
        self._begin_watch()
        self.tasks.begin(self._copy(), "snapshots")

    def close(self) -> None:
        if self._watch >= 0:
            asyncio.get_running_loop().remove_reader(self._watch)
            os.close(self._watch)
            self._watch = -1

    async def losses(self) -> list[Loss]:
        """Those that are recent enough to be told of."""
        since = self.registry.clock.now() - losses.SHOWN_SECONDS
        return [loss for loss in await self.registry.store.get(losses.all_losses) if loss.at > since]

    # -- snapshots

    async def _copy(self) -> None:
        copied = -1
        while True:
            if self.registry.store.writes != copied:
                copied = self.registry.store.writes
                await self.snapshot()
            await asyncio.sleep(_SNAPSHOT_SECONDS)

    async def snapshot(self) -> None:
        name = f"{time.time_ns() // 1_000_000:014d}"
        try:
            await self.registry.store.take_snapshot(name)
            await self.registry.store.tidy()
        except (OSError, sqlite3.Error, DamagedError, LampError) as error:
            log.error("no snapshot of the store: %s", error)

    # -- watching

    def _begin_watch(self) -> None:
        """The folder, for what goes; without inotify the files are looked at with each write all the same."""
        libc = ctypes.CDLL(None, use_errno=True)
        folder = os.path.dirname(self.registry.store.path)
        self._watch = libc.inotify_init1(_FLAGS)
        if self._watch < 0 or libc.inotify_add_watch(self._watch, os.fsencode(folder), _GONE) < 0:
            log.warning("the store's folder cannot be watched: %s", os.strerror(ctypes.get_errno()))
            return
        asyncio.get_running_loop().add_reader(self._watch, self._touched)

    def _touched(self) -> None:
        found = os.read(self._watch, 1 << 16)
        name = os.fsencode(os.path.basename(self.registry.store.path))
        if name in found and not self._looking:
            self._looking = True
            self.tasks.begin(self._look(), "the store's files")

    async def _look(self) -> None:
        self._looking = False
        await self.registry.store.check()
