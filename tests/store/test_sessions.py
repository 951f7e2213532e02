"""A session's row: the columns of its state, and the state again; what changes is written, and the rest stays as it is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How, Intent
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import WORDS, BeingEnded, HasEnded, Running, Starting, State
from lamplighter.store import sessions
from lamplighter.store.migrations import migrate

INTENT = Intent("operator", "enough", How.ASKED, 5.0, 11.0, ask=10.0)
ENDING = Ending(12.0, "operator", "enough", How.ASKED, Exit(0), Certificate(Guarantee.TREE, 0.5), {"cpu": 1.0})
WANTED = json.dumps(INTENT.document())
RECORD = json.dumps(ENDING.document())
COLUMNS: list[tuple[State, list[Any]]] = [
    (Starting(), [None, None, None, None]),
    (Running(), [None, None, None, None]),
    (BeingEnded(INTENT), [None, None, WANTED, None]),
    (HasEnded(ENDING, INTENT), [12.0, '{"code": 0}', WANTED, RECORD]),
    (HasEnded(ENDING), [12.0, '{"code": 0}', None, RECORD]),
]
STARTING = Session(
    id="x", name="work", kind=Kind.TASK, driver=Driver.TERMINAL, owner="operator", command=("cat",), cwd="/", created_at=1.0,
    boot="b",
)  # fmt: skip


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.row_factory = sqlite3.Row
        migrate(made)
        yield made


@pytest.mark.parametrize(("state", "columns"), COLUMNS, ids=[*WORDS, "by itself"])
def test_a_state_is_kept_in_its_columns(db: sqlite3.Connection, state: State, columns: list[Any]) -> None:
    session = Session(
        "0aaaaaaa",
        "one",
        Kind.TASK,
        Driver.TERMINAL,
        "operator",
        ("cat",),
        "/",
        10.0,
        "b",
        started_at=11.0,
        state=state,
    )
    assert sessions.insert(db, session)
    row = db.execute("SELECT state, ended_at, exit, intent, ending FROM sessions").fetchone()
    assert list(row) == [state.word, *columns]
    assert sessions.get(db, "0aaaaaaa") == session


def test_what_has_changed_is_written_and_nothing_else(db: sqlite3.Connection) -> None:
    facts = replace(STARTING.facts, labels=("night",))
    started = replace(STARTING.started(2.0, Process(7, 70), Process(8, 80)), facts=facts, protected=True)
    assert sessions.insert(db, STARTING)
    sessions.update(db, STARTING, started)
    assert sessions.get(db, "x") == started
    db.execute("UPDATE sessions SET cwd = '/elsewhere'")
    sessions.update(db, started, replace(started, name="other"))
    assert sessions.get(db, "x") == replace(started, name="other", cwd="/elsewhere")
    sessions.update(db, started, started)
