"""Stores of before are brought up to date, and lose nothing by it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lamplighter.domain.limits import NO_LIMITS
from lamplighter.store import events, migrations, sessions
from lamplighter.store.migrations import MIGRATIONS, migrate

SESSION = {
    "id": "0aaaaaaa", "name": "old", "kind": "cron", "driver": "terminal", "agent": "generic", "owner": "operator",
    "parent": None, "project": None, "command": '["cat"]', "cwd": "/", "state": "running", "boot": "b", "protected": 1,
    "keep_children": 0, "bound": 0, "holder_lost": 0, "key": "k", "created_at": 1.0, "started_at": 2.0, "ended_at": None,
    "main": "[5, 6]", "shim": "[3, 4]", "exit": None, "intent": None, "ending": None, "facts": '{"line": ["x"]}',
}  # fmt: skip


def store_of(version: int, path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.row_factory = sqlite3.Row
    for number, script in enumerate(MIGRATIONS[:version], start=1):
        db.executescript(f"BEGIN; {script}; PRAGMA user_version = {number}; COMMIT;")
    names = ", ".join(SESSION)
    db.execute(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(SESSION))})", list(SESSION.values()))
    events.append(db, 1.0, "0aaaaaaa", "operator", "start", name="old")
    db.execute("INSERT INTO calls VALUES ('k', 'start_session', 'operator', 'd', 'done', '{}', 1.0)")
    db.execute("INSERT INTO meta VALUES ('last_id', '0aaaaaaa')")
    return db


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_nothing_is_lost(version: int, tmp_path: Path) -> None:
    db = store_of(version, tmp_path / "store.db")
    migrate(db)
    assert db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    (session,) = sessions.living(db)
    assert (session.id, session.name, session.protected, session.line) == ("0aaaaaaa", "old", True, ["x"])
    assert session.limits == NO_LIMITS
    db.execute("DELETE FROM sessions")
    assert sessions.insert(db, session)
    assert sessions.living(db) == [session]
    assert [event.action for event in events.newest(db, None, 0, 10)] == ["start"]
    assert db.execute("SELECT state FROM calls").fetchone()[0] == "done"
    assert sessions.last_id(db) == "0aaaaaaa"
    migrate(db)  # once more: nothing to do
    db.close()


def test_a_step_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = store_of(1, tmp_path / "store.db")
    monkeypatch.setattr(migrations, "MIGRATIONS", [MIGRATIONS[0], MIGRATIONS[1] + "; SELECT no_such_function();"])
    with pytest.raises(sqlite3.OperationalError):
        migrate(db)
    if db.in_transaction:
        db.execute("ROLLBACK")
    assert db.execute("PRAGMA user_version").fetchone()[0] == 1
    assert "limits" not in [row[1] for row in db.execute("PRAGMA table_info(sessions)")]
    db.close()
