"""The store's connection: the log of writes stays small, and what could not be written is written once."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lamplighter.store.connection import connect
from lamplighter.store.database import Database
from lamplighter.store.reserved_space import ReservedSpace

_LIMIT = 9 << 20
_WRITES = 600


async def _write(store: Database, count: int) -> None:
    text = "x" * 60_000
    for number in range(count):
        await store.write(
            lambda db, number=number: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"t{number % 5}", text))
        )


def _with_store(path: Path, work: Callable[[Database], Awaitable[None]]) -> None:
    async def run() -> None:
        store = Database(str(path))
        await store.open()
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_the_log_of_writes_is_cut_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work(store: Database) -> None:
        await _write(store, _WRITES)
        assert os.path.getsize(f"{path}-wal") < _LIMIT
        await store.tidy()
        assert os.path.getsize(f"{path}-wal") == 0

    _with_store(path, work)


def test_a_reader_that_stays_holds_the_log_up_only_while_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work(store: Database) -> None:
        await _write(store, 1)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchone()
        await _write(store, _WRITES)
        assert os.path.getsize(f"{path}-wal") > _LIMIT
        reader.execute("COMMIT")
        reader.close()
        await _write(store, _WRITES // 2)
        assert os.path.getsize(f"{path}-wal") < _LIMIT

    _with_store(path, work)


def test_what_waits_in_reserve_is_written_once(tmp_path: Path) -> None:
    """A crash between the transaction that takes it and the clearing of the reserve."""
    path = tmp_path / "store.db"
    connect(str(path)).close()
    reserve = ReservedSpace(f"{path}-reserve")
    reserve.open()
    event = "INSERT INTO events (at, session, by, action, detail) VALUES (?, ?, ?, ?, ?)"
    assert reserve.add([(event, [1.0, None, "operator", "waited", "{}"])])
    reserve.close()
    kept = Path(reserve.path).read_bytes()

    async def count(store: Database) -> None:
        found = await store.get(
            lambda db: db.execute("SELECT count(*) FROM events WHERE action = 'waited'").fetchone()[0]
        )
        assert found == 1

    _with_store(path, count)
    Path(reserve.path).write_bytes(kept)
    _with_store(path, count)


def test_half_of_what_was_kept_in_reserve_is_none(tmp_path: Path) -> None:
    reserve = ReservedSpace(str(tmp_path / "reserve"))
    reserve.open()
    reserve.add([("DELETE FROM meta WHERE name = ?", ["one"])])
    whole = Path(reserve.path).read_bytes()
    reserve.add([("DELETE FROM meta WHERE name = ?", ["other"])])
    reserve.close()
    torn = Path(reserve.path).read_bytes()
    length = whole.rstrip(b"\0").__len__()
    Path(reserve.path).write_bytes(torn[: length + 20] + bytes(len(torn) - length - 20))
    again = ReservedSpace(reserve.path)
    again.open()
    assert [statement for _, statement in again.kept] == [("DELETE FROM meta WHERE name = ?", ["one"])]
    again.close()


@pytest.mark.parametrize("name", ["", "-reserve"])
def test_its_files_are_the_users_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store.db"

    async def work(store: Database) -> None:
        await _write(store, 1)

    _with_store(path, work)
    assert os.stat(f"{path}{name}").st_mode & 0o777 == 0o600
