"""The store's files, and what lies beside them: the draft of a new one, snapshots, and what was put aside.

Every step is safe to repeat: a draft gets its name `.new` once it is whole, and from then on whoever opens the store goes on with
putting it in place. Knows files; what is in them is SQLite's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable

from lamplighter.store.connection import DamagedError, is_damage, problem
from lamplighter.store.migrations import migrate

_MOST_ASIDE = 3
_ASIDE_BYTES = 1 << 30
_MOST_SNAPSHOTS = 3
_SNAPSHOT_BYTES = 1 << 30
_SUFFIXES = ("", "-wal", "-shm")


class Files:
    def __init__(self, path: str) -> None:
        self.path = path
        folder = os.path.dirname(path)
        self.reserve = f"{path}-reserve"
        self.new = f"{path}.new"
        self.snapshots = f"{folder}/snapshots"
        self.aside = f"{folder}/lost"
        self.sessions = f"{folder}/sessions"

    def were_used(self) -> bool:
        """Whether a store was here before, by what lies around it: a first start finds nothing of all that."""
        if self.newest_snapshots() or os.path.exists(f"{self.path}-wal") or os.path.isdir(self.aside):
            return True
        with contextlib.suppress(OSError):
            return bool(os.listdir(self.sessions))
        return False

    # -- a new file in place of another

    def draft_from(self, source: sqlite3.Connection, finish: Callable[[sqlite3.Connection], None]) -> None:
        """A whole copy of what this connection sees, as `.new`. DamagedError when that is not whole."""
        draft = f"{self.new}.draft"
        self._remove(draft)
        _copy(source, draft, finish)
        _rename(draft, self.new)

    def put_in_place(self, aside: str) -> None:
        """What is there goes aside, and `.new` takes its place. Does what is still to be done of that."""
        if not os.path.exists(self.new):
            return
        folder = f"{self.aside}/{aside}"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for suffix in ("-wal", "-shm", ""):  # a log of writes that stays would be taken for the new file's
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self.path}{suffix}", f"{folder}/{os.path.basename(self.path)}{suffix}")
        _rename(self.new, self.path)
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # when nothing was there
        self._bound_aside()

    def _bound_aside(self) -> None:
        folders = sorted(os.listdir(self.aside)) if os.path.isdir(self.aside) else []
        room = _ASIDE_BYTES
        for number, name in enumerate(reversed(folders)):
            size = sum(entry.stat().st_size for entry in os.scandir(f"{self.aside}/{name}"))
            room -= size
            if number and (number >= _MOST_ASIDE or room < 0):
                shutil.rmtree(f"{self.aside}/{name}", ignore_errors=True)

    # -- snapshots

    def newest_snapshots(self) -> list[tuple[str, float]]:
        """Paths and times, the newest first."""
        try:
            found = [entry for entry in os.scandir(self.snapshots) if entry.name.endswith(".db")]
        except OSError:
            return []
        return sorted(((entry.path, entry.stat().st_mtime) for entry in found), key=lambda each: each[1], reverse=True)

    def take_snapshot(self, name: str) -> bool:
        """Of the file as it is now, through a connection of its own: nobody waits for it. False when it would be too large."""
        if os.path.getsize(self.path) > _SNAPSHOT_BYTES:
            return False
        os.makedirs(self.snapshots, mode=0o700, exist_ok=True)
        draft = f"{self.snapshots}/{name}.draft"
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as source:
            _copy(source, draft, lambda _: None)
        _rename(draft, f"{self.snapshots}/{name}.db")
        self._bound_snapshots()
        return True

    def _bound_snapshots(self) -> None:
        room = _SNAPSHOT_BYTES
        for number, (path, _) in enumerate(self.newest_snapshots()):
            room -= os.path.getsize(path)
            if number and (number >= _MOST_SNAPSHOTS or room < 0):
                self._remove(path)
        for entry in os.scandir(self.snapshots):
            if ".draft" in entry.name:
                self._remove(entry.path)

    def forget_copies(self) -> None:
        """Every copy of what was ever in the store."""
        shutil.rmtree(self.snapshots, ignore_errors=True)
        shutil.rmtree(self.aside, ignore_errors=True)
        for suffix in ("", ".draft"):
            self._remove(f"{self.new}{suffix}")

    def _remove(self, path: str) -> None:
        for suffix in ("", "-journal", *_SUFFIXES[1:]):
            with contextlib.suppress(OSError):
                os.unlink(f"{path}{suffix}")


def _copy(source: sqlite3.Connection, path: str, finish: Callable[[sqlite3.Connection], None]) -> None:
    """On disk and whole when this returns; nothing is left of it otherwise."""
    previous = os.umask(0o077)
    try:
        copy = sqlite3.connect(path, isolation_level=None)
    finally:
        os.umask(previous)
    try:
        with contextlib.closing(copy):
            source.backup(copy)
            found = problem(copy)
            if found is not None:
                raise DamagedError(found)
            copy.row_factory = sqlite3.Row
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, whatever happens
            migrate(copy)  # an old snapshot may be of an older version
            copy.execute("BEGIN IMMEDIATE")
            finish(copy)
            copy.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        _drop(path)
        if is_damage(error):
            raise DamagedError(str(error)) from error
        raise
    except BaseException:
        _drop(path)
        raise


def _drop(path: str) -> None:
    for suffix in ("", "-journal"):
        with contextlib.suppress(OSError):
            os.unlink(f"{path}{suffix}")


def _rename(old: str, new: str) -> None:
    """On disk when this returns."""
    os.rename(old, new)
    folder = os.open(os.path.dirname(new), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
