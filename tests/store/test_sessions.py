"""A session's row: the columns of its state, and the state again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How, Intent
from lamplighter.domain.session import Driver, Kind, Session
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
