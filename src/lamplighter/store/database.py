"""The connection: one thread, WAL, every write a transaction of its own, SQLite's errors translated once, here."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lamplighter.errors import Code, InputError, LampError, UnavailableError
from lamplighter.store.migrations import MIGRATIONS, migrate

T = TypeVar("T")
_BUSY_SECONDS = 3.0
_CHECKPOINT_WRITES = 1000


class Database:
    """Runs named queries, one at a time. Knows SQLite; knows nothing of sessions.

    A small transaction takes some fifteen microseconds, less than waking a thread, so it runs on the loop. When another
    process holds the file, or a checkpoint is due, it goes to a thread, where waiting hurts nobody.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._db: sqlite3.Connection | None = None
        self._lock = asyncio.Lock()
        self._writes = 0

    async def open(self) -> None:
        await self._in_thread(self._open)

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        async with self._lock:
            return await self._in_thread(lambda: query(self._connection()))

    async def get(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """A read of a row or two."""
        async with self._lock:
            return await self._run(lambda: query(self._connection()))

    async def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """All of it or nothing. IMMEDIATE: a transaction that reads first and then writes would be refused when another
        process wrote in between."""
        async with self._lock:
            result = await self._run(lambda: self._transact(change))
            self._writes += 1
            if self._writes % _CHECKPOINT_WRITES == 0:
                await self._in_thread(self._checkpoint)
            return result

    async def write_long(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """A transaction that takes its time: in the thread, so that only the store waits for it."""
        async with self._lock:
            return await self._in_thread(lambda: self._patiently(lambda: self._transact(change)))

    async def maintain(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What no transaction can hold, such as a VACUUM."""
        async with self._lock:
            return await self._in_thread(lambda: self._patiently(lambda: work(self._connection())))

    async def close(self) -> None:
        if self._db is not None:
            async with self._lock:
                await self._in_thread(self._db.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return _translated(work, self.path)
        except UnavailableError as error:
            if error.code is not Code.STORE_BUSY:
                raise
        return await self._in_thread(lambda: self._patiently(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _translated, work, self.path)

    def _patiently(self, work: Callable[[], T]) -> T:
        db = self._connection()
        db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
        try:
            return work()
        finally:
            db.execute("PRAGMA busy_timeout = 0")

    def _checkpoint(self) -> None:
        self._connection().execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _open(self) -> None:
        previous = os.umask(0o077)
        try:
            db = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)
        finally:
            os.umask(previous)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        if db.execute("PRAGMA user_version").fetchone()[0] > len(MIGRATIONS):
            raise InputError(
                Code.BAD_INPUT,
                f"{self.path} was written by a newer Lamplighter",
                "install that version again, or set LAMPLIGHTER_HOME to another folder",
            )
        migrate(db)
        db.execute("PRAGMA wal_autocheckpoint = 0")  # it waits for the disk: done every so often, in the thread
        db.execute("PRAGMA busy_timeout = 0")
        self._db = db

    def _connection(self) -> sqlite3.Connection:
        assert self._db is not None, "the store is not open"
        return self._db

    def _transact(self, change: Callable[[sqlite3.Connection], T]) -> T:
        db = self._connection()
        db.execute("BEGIN IMMEDIATE")
        try:
            result = change(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result


def _translated(work: Callable[[], T], path: str) -> T:
    try:
        return work()
    except LampError:
        raise
    except UnicodeEncodeError as error:
        raise InputError(
            Code.BAD_INPUT,
            f"a text has half of a character in it ({error.object[error.start]!a}), which cannot be stored; nothing was changed",
            "send whole characters: what JSON writes as \\ud800 to \\udfff comes in pairs alone",
        ) from error
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise UnavailableError(
                Code.STORE_BUSY,
                f"the store is locked by another process: {path}",
                "try again; sessions go on meanwhile",
            ) from error
        if "full" in text or "I/O" in text or "readonly" in text or "unable to open" in text:
            raise UnavailableError(
                Code.DISK_FULL,
                f"the store cannot be written: {text}: {path}",
                "make room on the disk and try again; sessions go on meanwhile and nothing was changed",
            ) from error
        raise
