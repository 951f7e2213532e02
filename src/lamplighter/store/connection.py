"""One connection to a file of SQLite, opened as ours is; and SQLite's errors, translated once, here."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lamplighter.errors import Code, InputError, LampError, UnavailableError
from lamplighter.store.migrations import MIGRATIONS, migrate

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
BUSY_SECONDS = 3.0
_WAL_BYTES = 4 << 20
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE")

Statement = tuple[str, list[Any]]


class Recorder(sqlite3.Connection):
    """A connection that can be told to note what is changed through it, statement by statement."""

    noted: list[Statement] | None = None

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:  # type: ignore[override]
        if self.noted is not None and sql.lstrip().upper().startswith(_CHANGES):
            self.noted.append((sql, list(parameters)))
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        rows = [list(row) for row in parameters]
        if self.noted is not None:
            self.noted.extend((sql, row) for row in rows)
        return super().executemany(sql, rows)


class DamagedError(Exception):
    """The file is none of SQLite's, or its pages contradict each other."""


def connect(path: str) -> Recorder:
    """A connection to a store of this version, migrated. DamagedError when the file is unusable."""
    previous = os.umask(0o077)
    try:
        db = sqlite3.connect(
            path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False, factory=Recorder
        )
    finally:
        os.umask(previous)
    try:
        _prepare(db, path)
    except sqlite3.DatabaseError as error:
        db.close()
        if is_damage(error):
            raise DamagedError(str(error)) from error
        raise
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: str) -> None:
    db.row_factory = sqlite3.Row
    # First of all: what a newer version wrote is not ours to judge, nor to change.
    if db.execute("PRAGMA user_version").fetchone()[0] > len(MIGRATIONS):
        raise InputError(
            Code.BAD_INPUT,
            f"{path} was written by a newer Lamplighter",
            "install that version again, or set LAMPLIGHTER_HOME to another folder",
        )
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA temp_store = MEMORY")  # so that a full disk keeps nobody from reading
    migrate(db)
    db.execute("PRAGMA wal_autocheckpoint = 0")  # it waits for the disk: done every so often, in the thread
    db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    db.execute("PRAGMA busy_timeout = 0")


def is_damage(error: sqlite3.Error) -> bool:
    return _primary(error) in _DAMAGED


def problem(db: sqlite3.Connection) -> str | None:
    """What SQLite finds wrong with the file, in its words; None when it is whole."""
    try:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return str(error)
    return None if found == "ok" else found.replace("\n", " ")[:200]


def translated(work: Callable[[], T], path: str) -> T:
    try:
        return work()
    except LampError:
        raise
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise _unwritable(str(error), path) from error
    except UnicodeEncodeError as error:
        raise InputError(
            Code.BAD_INPUT,
            f"a text has a character in it that is none ({error.object[error.start]!a}); nothing was changed",
            "send UTF-8; what JSON writes as \\ud800 to \\udfff comes in pairs alone",
        ) from error
    except sqlite3.DatabaseError as error:
        code = _primary(error)
        if code in _BUSY:
            raise UnavailableError(
                Code.STORE_BUSY,
                f"the store is locked by another process: {path}",
                "try again; sessions go on meanwhile",
            ) from error
        if code in _FULL:
            raise _unwritable(str(error), path) from error
        if code in _DAMAGED:
            raise DamagedError(str(error)) from error
        raise


def _unwritable(why: str, path: str) -> UnavailableError:
    return UnavailableError(
        Code.DISK_FULL,
        f"the store cannot be written: {why}: {path}",
        "make room on the disk and try again; sessions go on meanwhile and nothing was changed",
    )


def _primary(error: sqlite3.Error) -> int:
    """SQLite's code for the kind of error, without what it says of its circumstances."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
