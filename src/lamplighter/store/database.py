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


class Database:
    """Runs named queries. Knows SQLite; knows nothing of sessions."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._db: sqlite3.Connection | None = None

    async def open(self) -> None:
        await self._run(self._open)

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        return await self._run(lambda: query(self._connection()))

    async def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """All of it or nothing. IMMEDIATE: a transaction that reads first and then writes would be refused when another
        process wrote in between."""
        return await self._run(lambda: self._transact(change))

    async def close(self) -> None:
        if self._db is not None:
            await self._run(self._db.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _translated, work, self.path)

    def _open(self) -> None:
        previous = os.umask(0o077)
        try:
            db = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_SECONDS)
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
