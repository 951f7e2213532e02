"""Opening the store, whatever is found at its path: the file that was there, or the last snapshot of it, or a new one.

A file that a newer version wrote is not ours to replace; one that is missing where none ever was is a first start.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Callable

from lamplighter.errors import Code, UnavailableError
from lamplighter.holder import proc
from lamplighter.store import losses
from lamplighter.store.connection import DamagedError, Recorder, connect, problem, translated
from lamplighter.store.files import Files
from lamplighter.store.losses import Loss
from lamplighter.store.migrations import migrate

log = logging.getLogger(__name__)
_CHECKED_BYTES = (
    64 << 20
)  # larger ones take too long to look through at each start: what is wrong shows when it is read


class Opening:
    def __init__(self, files: Files) -> None:
        self.files = files

    def open(self, make_room: Callable[[], bool]) -> Recorder:
        """`make_room` gives up what is held in reserve, so that a full disk does not keep the store from being opened."""
        while True:
            try:
                return translated(self._open, self.files.path)
            except UnavailableError as error:
                if error.code is not Code.DISK_FULL or not make_room():
                    raise

    def view(self) -> Recorder:
        """What can be read of a store that cannot be opened for writing, in memory. Without what is only in the log of writes: to
        read that, SQLite has to write."""
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Recorder)
        with contextlib.suppress(sqlite3.Error, OSError):
            if os.path.getsize(self.files.path):
                source = sqlite3.connect(f"file:{self.files.path}?mode=ro&immutable=1", uri=True)
                with contextlib.closing(source):
                    source.backup(db)
        db.row_factory = sqlite3.Row
        migrate(db)
        return db

    def _open(self) -> Recorder:
        self._go_on()
        try:
            return self._usable()
        except DamagedError as error:
            log.critical("the store cannot be used: %s", error)
            self._restore(str(error))
            return connect(self.files.path)

    def _go_on(self) -> None:
        """A daemon was lost while it put a new file in place."""
        if not os.path.exists(self.files.new):
            return
        with contextlib.closing(sqlite3.connect(self.files.new)) as draft:
            row = draft.execute("SELECT value FROM meta WHERE name = 'losses'").fetchone()
        self.files.put_in_place(Loss(**json.loads(row[0])[-1]).kept)

    def _usable(self) -> Recorder:
        path = self.files.path
        size = os.path.getsize(path) if os.path.exists(path) else -1
        if size <= 0 and self.files.were_used():
            raise DamagedError(f"{path} was {'emptied' if size == 0 else 'deleted'}")
        db = connect(path)
        found = problem(db) if size <= _CHECKED_BYTES else None
        if found is not None:
            db.close()
            raise DamagedError(f"{path} is damaged: {found}")
        return db

    def _restore(self, why: str) -> None:
        """The newest snapshot that is whole, or an empty store; as `.new` first, so that a crash repeats or finishes it."""
        for snapshot, at in self.files.newest_snapshots():
            try:
                with contextlib.closing(sqlite3.connect(f"file:{snapshot}?mode=ro", uri=True)) as source:
                    self._draft(source, Loss.now(why, at))
                return
            except DamagedError as error:
                log.critical("the snapshot %s cannot be used: %s", snapshot, error)
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
            migrate(nothing)
            self._draft(nothing, Loss.now(why, None))

    def _draft(self, source: sqlite3.Connection, loss: Loss) -> None:
        def finish(copy: sqlite3.Connection) -> None:
            losses.begin_epoch(copy, loss, proc.boot_id())
            losses.note(copy, loss)

        self.files.draft_from(source, finish)
        self.files.put_in_place(loss.kept)
