"""A session's row: what changes of it is written, and the rest stays as it is."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.store import sessions
from lamplighter.store.connection import connect

STARTING = Session(
    id="x", name="work", kind=Kind.TASK, driver=Driver.TERMINAL, owner="operator", command=("cat",), cwd="/", created_at=1.0,
    boot="b",
)  # fmt: skip


def test_what_has_changed_is_written_and_nothing_else(tmp_path: Path) -> None:
    facts = replace(STARTING.facts, labels=("night",))
    started = replace(STARTING.started(2.0, Process(7, 70), Process(8, 80)), facts=facts, protected=True)
    with closing(connect(str(tmp_path / "store.db"))) as db:
        assert sessions.insert(db, STARTING)
        sessions.update(db, STARTING, started)
        assert sessions.get(db, "x") == started
        db.execute("UPDATE sessions SET cwd = '/elsewhere'")
        sessions.update(db, started, replace(started, name="other"))
        assert sessions.get(db, "x") == replace(started, name="other", cwd="/elsewhere")
        sessions.update(db, started, started)
