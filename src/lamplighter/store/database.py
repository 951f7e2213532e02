"""The store: one thread, WAL, every write a transaction of its own, and files that are looked at before a write is acknowledged.

When they are not the ones that were opened any more, the open connection still has everything: it is written to a new file at
the path, and nothing is lost. When the file itself is damaged, the daemon must go: `opening` sets it right at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lamplighter.errors import Code, Hint, LampError, UnavailableError, Use
from lamplighter.store import losses
from lamplighter.store.connection import BUSY_SECONDS, DamagedError, Recorder, connect, problem, translated
from lamplighter.store.files import Files
from lamplighter.store.losses import Loss
from lamplighter.store.open_store import Opening
from lamplighter.store.opened_files import OpenedFiles
from lamplighter.store.reserved_space import ReservedSpace

T = TypeVar("T")
log = logging.getLogger(__name__)
_LOG_BYTES = 4 << 20
_LONGEST_PAUSE = 5.0
_APPLIED = "SELECT value FROM meta WHERE name = 'reserve'"
_KEEP_APPLIED = "INSERT OR REPLACE INTO meta VALUES ('reserve', ?)"


class Database:
    """Runs named queries, one at a time. Knows SQLite; knows nothing of sessions.

    A small transaction takes some fifteen microseconds, less than waking a thread, so it runs on the loop. When another
    process holds the file, or a checkpoint is due, it goes to a thread, where waiting hurts nobody. Those in `on_made_again` are
    told of files that went while they were open, those in `on_damaged` that the store can be used no more by this process.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = Files(path)
        self.on_made_again: list[Callable[[str], None]] = []
        self.on_damaged: list[Callable[[str], None]] = []
        self.unwritable: UnavailableError | None = None  # why it is only read, when that is so
        self.writes = 0
        self.damage = ""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._db: Recorder | None = None
        self._lock = asyncio.Lock()
        self._copying = asyncio.Lock()
        self._reserve = ReservedSpace(self.files.reserve)
        self._opened = OpenedFiles(path)
        self._later: asyncio.Task[None] | None = None
        self._closing = False
        self._checkpoint_at = _LOG_BYTES

    async def open(self) -> None:
        await self._in_thread(self._open)
        async with self._lock:
            await self._pass_on_if_possible()
        if self.unwritable is not None or self._reserve.kept:
            self._wait_in_background()

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        async with self._lock:
            return await self._guarded(lambda: self._in_thread(lambda: self._look(query)))

    async def get(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """A read of a row or two."""
        async with self._lock:
            return await self._guarded(lambda: self._run(lambda: self._look(query)))

    async def write(self, change: Callable[[sqlite3.Connection], T], *, must: bool = False) -> T:
        """All of it or nothing. IMMEDIATE: a transaction that reads first and then writes would be refused when another
        process wrote in between. `must`: when the disk is full it is kept all the same, in order, until there is room;
        whoever reads meanwhile sees it."""
        async with self._lock:
            result = await self._guarded(lambda: self._write(change, must=must))
            await self._settle()
            return result

    async def write_long(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """A transaction that takes its time: in the thread, so that only the store waits for it."""
        async with self._lock:
            await self._guarded(self._pass_on)
            work = self._patient(lambda: self._transact(change))
            result = await self._guarded(lambda: self._in_thread(work))
            await self._settle()
            return result

    async def maintain(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What no transaction can hold, such as a VACUUM."""
        async with self._lock:
            await self._guarded(self._pass_on)
            done = await self._guarded(lambda: self._in_thread(self._patient(lambda: work(self._connection()))))
            self._opened.note()
            return done

    async def check(self) -> None:
        """Somebody touched the folder: see to the files."""
        if self._db is None or self._closing or self.damage:
            return
        async with self._lock:
            await self._settle()

    async def take_snapshot(self, name: str) -> None:
        """In a thread of its own: nobody waits for it but who forgets for good."""
        async with self._copying:
            await asyncio.to_thread(self.files.take_snapshot, name)

    async def forget_copies(self) -> None:
        """Snapshots, what was put aside, and what was held in reserve: for what is forgotten for good. None that is being made
        stays."""
        async with self._copying, self._lock:
            await self._guarded(self._pass_on)
            await self._in_thread(self._reserve.wipe)
            await self._in_thread(self.files.forget_copies)

    async def tidy(self) -> None:
        """Empty the log of writes, and see to the room for what must be written."""
        async with self._lock:
            if self._db is not None and not self.damage and self.unwritable is None:
                await self._guarded(lambda: self._in_thread(self._checkpoint))

    async def close(self) -> None:
        self._closing = True
        if self._later is not None:
            self._later.cancel()
        if self._db is not None:
            async with self._lock:
                await self._pass_on_if_possible()
                if self._reserve.kept:
                    log.error("%d changes wait in %s for room on the disk", len(self._reserve.kept), self._reserve.path)
                self._opened.forget()
                await self._in_thread(self._db.close)
        self._reserve.close()
        self._thread.shutdown()

    # -- running

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return translated(work, self.path)
        except UnavailableError as error:
            if error.code is not Code.STORE_BUSY:
                raise
        return await self._in_thread(self._patient(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, translated, work, self.path)

    async def _guarded(self, work: Callable[[], Awaitable[T]]) -> T:
        """A damaged file is looked at once more through the open connection; what that cannot save is lost to this process."""
        if self.damage:
            raise _lost(self.damage)
        try:
            return await work()
        except DamagedError as error:
            await self._make_again(f"{self.path} is damaged: {error}")
            return await work()

    def _patient(self, work: Callable[[], T]) -> Callable[[], T]:
        def patiently() -> T:
            db = self._connection()
            db.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
            try:
                return work()
            finally:
                db.execute("PRAGMA busy_timeout = 0")

        return patiently

    def _open(self) -> None:
        self._reserve.open()
        try:
            self._db = Opening(self.files).open(self._reserve.give_up)
            self._opened.note()
        except UnavailableError as error:
            if error.code is not Code.DISK_FULL:
                raise
            # What lives must be seen and ended all the same: what is to be kept of that waits in the reserve.
            log.critical("the store is read, and not written: %s", error)
            self._db, self.unwritable = Opening(self.files).view(), error

    def _open_for_writing(self) -> None:
        opened = Opening(self.files).open(self._reserve.give_up)
        self._connection().close()
        self._db, self.unwritable = opened, None
        self._opened.note()
        log.info("the store can be written again")

    def _connection(self) -> Recorder:
        assert self._db is not None, "the store is not open"
        return self._db

    def _transact(self, change: Callable[[sqlite3.Connection], T], *, keep: bool = True) -> T:
        db = self._connection()
        db.execute("BEGIN IMMEDIATE")
        try:
            result = change(db)
            db.execute("COMMIT" if keep else "ROLLBACK")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result

    # -- when the disk is full

    async def _write(self, change: Callable[[sqlite3.Connection], T], *, must: bool) -> T:
        try:
            await self._pass_on()
            return await self._run(lambda: self._transact(change))
        except UnavailableError as error:
            if not must or error.code is not Code.DISK_FULL:
                raise
        result, statements = await self._in_thread(lambda: self._tried(change))
        kept = self._reserve.add(statements)
        log.error("the disk is full: %d changes wait %s", len(self._reserve.kept), "there" if kept else "in memory")
        self._wait_in_background()
        return result

    def _tried(self, change: Callable[[sqlite3.Connection], T]) -> tuple[T, list[tuple[str, list[object]]]]:
        """What it comes to, and the statements that it consists of, with nothing written."""

        def work(db: sqlite3.Connection) -> tuple[T, list[tuple[str, list[object]]]]:
            self._replay(db)
            recorder = self._connection()
            recorder.noted = []
            try:
                return change(db), recorder.noted
            finally:
                recorder.noted = None

        return self._unwritten(work)

    def _look(self, query: Callable[[sqlite3.Connection], T]) -> T:
        if not self._reserve.kept:
            return query(self._connection())

        def work(db: sqlite3.Connection) -> T:
            self._replay(db)
            return query(db)

        return self._unwritten(work)

    def _unwritten(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """In a transaction that is taken back, with every page of it in memory."""
        db = self._connection()
        db.execute("PRAGMA cache_spill = OFF")
        try:
            return self._transact(work, keep=False)
        finally:
            db.execute("PRAGMA cache_spill = ON")

    def _replay(self, db: sqlite3.Connection) -> int:
        found = db.execute(_APPLIED).fetchone()
        applied = last = int(found[0]) if found else 0
        for number, (sql, values) in self._reserve.kept:
            if number > applied:
                db.execute(sql, values)
                last = number
        return last

    async def _pass_on(self) -> None:
        """What waits goes first: everything is written in the order in which it was accepted."""
        if self.unwritable is not None:
            await self._in_thread(self._open_for_writing)
        if not self._reserve.kept:
            return

        def work(db: sqlite3.Connection) -> None:
            db.execute(_KEEP_APPLIED, (str(self._replay(db)),))

        await self._in_thread(self._patient(lambda: self._transact(work)))
        log.info("%d changes that waited for room are written", len(self._reserve.kept))
        self._reserve.clear()

    async def _pass_on_if_possible(self) -> None:
        try:
            await self._pass_on()
        except (LampError, DamagedError, sqlite3.Error) as error:
            log.error("%d changes still wait: %s", len(self._reserve.kept), error)

    def _wait_in_background(self) -> None:
        if self._later is None or self._later.done():
            self._later = asyncio.get_running_loop().create_task(self._wait_for_room())

    async def _wait_for_room(self) -> None:
        pause = 0.2
        while (self._reserve.kept or self.unwritable) and not self._closing:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            async with self._lock:
                await self._pass_on_if_possible()

    # -- the files

    async def _settle(self) -> None:
        """Before a write is acknowledged: it is in the file that the next daemon opens."""
        objection = self._opened.objection()
        if objection is not None:
            await self._make_again(objection)
        elif self._opened.touched:
            await self._guarded(self._look_at_change)
        self.writes += 1
        if self._opened.log_bytes > self._checkpoint_at:
            await self._guarded(lambda: self._in_thread(self._checkpoint))

    async def _look_at_change(self) -> None:
        """Somebody wrote the file in place. A tool that knows SQLite may; whatever does not leaves a damaged one."""
        change = self._opened.changed()
        if change is None:
            return

        def look() -> None:
            if not os.path.getsize(self.path):
                raise DamagedError(change)  # not to be opened: SQLite would take the log of writes away
            # The open connection has pages in memory that may not be there any more; another one has not.
            with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as other:
                found = problem(other)
            if found is not None:
                raise DamagedError(f"{change}: {found}")

        await self._in_thread(look)
        log.warning("%s, and is whole", change)
        self._opened.note()

    async def _make_again(self, why: str) -> None:
        """From the open connection, which has everything, to a new file at the path."""
        log.critical("the store: %s; it is written anew from memory", why)
        try:
            self._db = await self._in_thread(lambda: self._renew(why))
        except DamagedError as error:
            self.damage = f"{why}; {error}"
            log.critical("the store cannot be saved: %s", self.damage)
            for listener in self.on_damaged:
                listener(self.damage)
            raise _lost(self.damage) from error
        self._opened.note()
        for listener in self.on_made_again:
            listener(why)

    def _renew(self, why: str) -> Recorder:
        db = self._connection()
        loss = Loss.without_loss(why)
        self.files.draft_from(db, lambda copy: losses.note(copy, loss))
        self._opened.forget()
        db.close()  # before the new one is there: closing takes the files beside it away by their names
        self.files.put_in_place(loss.kept)
        return connect(self.path)

    def _checkpoint(self) -> None:
        """Everything into the file, and the log of writes cut to nothing; a reader that is in the way is waited for a moment."""
        db = self._connection()
        db.execute("PRAGMA busy_timeout = 100")
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            log.warning("the log of writes stays as it is: %s", error)
        finally:
            db.execute("PRAGMA busy_timeout = 0")
        self._opened.note()
        # Somebody reads on: not tried again with each write, but once as much has come again.
        self._checkpoint_at = os.path.getsize(f"{self.path}-wal") + _LOG_BYTES
        self._reserve.make_room()


def _lost(why: str) -> UnavailableError:
    return UnavailableError(
        Code.STORE_LOST,
        f"the store is damaged, and the daemon starts again to restore it: {why}",
        Hint("ask again in a moment; ", Use("doctor"), " says what was lost; sessions go on meanwhile"),
    )
