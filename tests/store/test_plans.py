"""Plans as the store keeps them: as they were, begun once, forgotten when they are old."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.plan import Plan, PlanRequest, PlanState, Row, Sighting
from lamplighter.domain.verdict import Verdict
from lamplighter.store import plans
from lamplighter.store.migrations import migrate

FOUND = Sighting("one", Verdict.IDLE, ["CPU 0%"], 2, 4096, 12.5, False, 0, 77, 5.5)
ORDERS = PlanRequest(
    Caller(Rank.SESSION, "session:0a", "0a"), "idle", older_than=60.0, force=True, grace=1.0, reason="tidy"
)
PLAN = Plan("plan-1", ORDERS, 1000.0, 1600.0, rows=[Row("0b", FOUND), Row("0c", FOUND)])


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made, made:
        made.row_factory = sqlite3.Row
        migrate(made)
        yield made
    made.close()


def test_a_plan_comes_back_as_it_was(db: sqlite3.Connection) -> None:
    plans.insert(db, PLAN)
    assert plans.get(db, "plan-1") == PLAN
    assert plans.get(db, "plan-2") is None


def test_it_is_begun_once_whoever_asks(db: sqlite3.Connection) -> None:
    plans.insert(db, PLAN)
    first, second = PLAN.applying("k1", 1100.0, None, ""), PLAN.applying("k2", 1101.0, 3.0, "other")
    assert plans.begin(db, first)
    assert not plans.begin(db, second)
    assert plans.get(db, "plan-1") == first
    assert plans.unfinished(db) == ["plan-1"]
    plans.keep_outcome(db, "plan-1", "0b", {"outcome": "ended"})
    plans.finish(db, "plan-1")
    assert plans.unfinished(db) == []
    kept = plans.get(db, "plan-1")
    assert kept is not None
    assert (kept.state, [row.outcome for row in kept.rows]) == (PlanState.APPLIED, [{"outcome": "ended"}, None])
    assert not plans.begin(db, second)


def test_old_ones_are_forgotten_but_not_while_they_are_applied(db: sqlite3.Connection) -> None:
    for name in ("old", "begun", "new"):
        plans.insert(db, replace(PLAN, id=name, made_at=5000.0 if name == "new" else 1000.0))
    begun = plans.get(db, "begun")
    assert begun is not None
    plans.begin(db, begun.applying("k", 1100.0, None, ""))
    plans.forget_before(db, 4000.0)
    assert [plans.get(db, name) is None for name in ("old", "begun", "new")] == [True, False, False]
    assert db.execute("SELECT count(*) FROM plan_rows").fetchone()[0] == 4
