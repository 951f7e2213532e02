"""Finding records and ended sessions: what may be found, in which order, how much of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.ending import Certificate, Ending, Guarantee, How
from lamplighter.domain.memory.record import Record, RecordState, RecordType, Source
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.states import HasEnded
from lamplighter.domain.text.search_text import query
from lamplighter.store import recall, records, sessions
from lamplighter.store.migrations import migrate
from lamplighter.store.recall import Filter

EVERY_STATE = Filter(states=tuple(RecordState))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def keep(db: sqlite3.Connection, identifier: str, content: str, **facts: Any) -> Record:
    given = {"type": RecordType.NOTE, "category": "general", "created_at": 1.0, "source": Source.OPERATOR, **facts}
    record = Record(id=identifier, content=content, importance=5, by="operator", **given)
    records.insert(db, record)
    return record


def ids(found: list[Record]) -> list[str]:
    return [record.id for record in found]


def search(
    db: sqlite3.Connection, text: str, wanted: Filter | None = None, limit: int = 10, offset: int = 0
) -> list[str]:
    return ids(recall.search(db, query(text), wanted or Filter(), limit, offset))


def test_the_best_is_first_and_of_equals_the_newest(db: sqlite3.Connection) -> None:
    keep(db, "r1", "cache warm", created_at=1.0)
    keep(db, "r2", "cache cold and slow", created_at=2.0)
    keep(db, "r3", "cache warm", created_at=3.0)
    keep(db, "r4", "nothing at all", created_at=4.0)
    assert search(db, "warm cache") == ["r3", "r1", "r2"]
    assert search(db, "warm cache", limit=1) == ["r3"]
    assert search(db, "warm cache", limit=2, offset=1) == ["r1", "r2"]
    assert recall.count(db, query("warm cache"), Filter()) == 3
    assert search(db, "unheard-of") == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(), {"r1", "r2", "r3", "r5"}),
        (Filter(projects=("/a",)), {"r1", "r3", "r5"}),
        (Filter(projects=("/a", "/b"), everywhere=False), {"r1", "r2", "r5"}),
        (Filter(projects=(), everywhere=True), {"r3"}),
        (Filter(projects=(), everywhere=False), set()),
        (Filter(everywhere=False), {"r1", "r2", "r5"}),
        (Filter(types=(RecordType.WARNING, RecordType.CONSTRAINT)), {"r2"}),
        (Filter(states=(RecordState.RESOLVED,)), {"r4"}),
        (EVERY_STATE, {"r1", "r2", "r3", "r4", "r5"}),
        (Filter(since=2.0, until=4.0), {"r2", "r3"}),
        (Filter(category="lesson"), {"r2"}),
        (Filter(sources=(Source.INFERRED,)), {"r5"}),
    ],
)
def test_only_what_is_wanted_is_found(db: sqlite3.Connection, wanted: Filter, expected: set[str]) -> None:
    keep(db, "r1", "the cache !!!", project="/a", created_at=1.0)
    keep(db, "r2", "the cache !!!", project="/b", created_at=2.0, type=RecordType.WARNING, category="lesson")
    keep(db, "r3", "the cache !!!", created_at=3.0)
    keep(db, "r4", "the cache !!!", project="/a", created_at=4.0)
    keep(db, "r5", "the cache !!!", project="/a", created_at=5.0, source=Source.INFERRED)
    records.close(db, "r4", RecordState.RESOLVED, 5.0, "operator")
    for text in ("cache", "!!!"):
        found = search(db, text, wanted)
        assert set(found) == expected
        assert len(found) == recall.count(db, query(text), wanted)
    assert set(ids(recall.newest(db, wanted, 10))) == expected
    assert recall.count(db, None, wanted) == len(expected)


def test_a_list_is_newest_first_and_in_parts(db: sqlite3.Connection) -> None:
    for number in range(9):
        keep(db, f"r{number}", "same", created_at=float(number // 2))
    assert ids(recall.newest(db, Filter(), 3)) == ["r8", "r7", "r6"]
    assert ids(recall.newest(db, Filter(), 3, 7)) == ["r1", "r0"]


def test_what_is_forgotten_is_found_no_more(db: sqlite3.Connection) -> None:
    keep(db, "r1", "the cache")
    records.close(db, "r1", RecordState.FORGOTTEN, 2.0, "operator")
    assert search(db, "cache", EVERY_STATE) == []
    assert ids(recall.newest(db, EVERY_STATE, 5)) == ["r1"]


def ended(db: sqlite3.Connection, identifier: str, project: str | None, at: float) -> None:
    session = Session(
        id=identifier, name=f"n{identifier}", kind=Kind.TASK, driver=Driver.HEADLESS, agent="claude", owner="operator",
        command=("cat",), cwd="/", created_at=1.0, boot="b", project_id=project,
    )  # fmt: skip
    ending = Ending(at, "itself", "", How.EXITED, None, Certificate(Guarantee.TREE, 0.0))
    sessions.insert(db, replace(session, state=HasEnded(ending)))


def test_a_session_is_found_by_the_last_summary_that_it_has(db: sqlite3.Connection) -> None:
    for number, project in enumerate(("/a", "/b", None)):
        ended(db, f"0{number}", project, float(number))
        recall.keep_summary(db, f"0{number}", "Moved the cache into src/newStore.py")
    recall.keep_summary(db, "00", "Something else altogether ++")

    def found(text: str, projects: tuple[str, ...] | None = None, **times: float) -> list[str]:
        return [summary.session for summary in recall.search_sessions(db, query(text), projects, 10, **times)]

    assert found("moving caches") == ["02", "01"]
    assert found("new store", ("/a", "/b")) == ["01"]
    assert found("cache", since=1.5) == ["02"]
    assert found("cache", until=1.5) == ["01"]
    assert found("++") == ["00"]
    (summary,) = recall.search_sessions(db, query("altogether"), None, 10)
    assert (summary.name, summary.agent, summary.project, summary.text) == (
        "n00",
        "claude",
        "/a",
        "Something else altogether ++",
    )
    recall.forget_summary(db, "02")
    assert found("cache") == ["01"]
