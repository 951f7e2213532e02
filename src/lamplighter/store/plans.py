"""Queries about plans of cleanups and their rows."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from lamplighter.domain.leak import Leak
from lamplighter.domain.plan import Plan, PlanRequest, PlanState, Row, Sighting


def insert(db: sqlite3.Connection, plan: Plan) -> None:
    orders = json.dumps(plan.orders.document())
    values = (
        plan.id,
        plan.orders.caller.name,
        plan.made_at,
        plan.expires_at,
        plan.state.value,
        orders,
        plan.applied_at,
    )
    db.execute("INSERT INTO plans VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    rows = [(plan.id, row.session, json.dumps(row.found.document())) for row in plan.rows]
    db.executemany("INSERT INTO plan_rows VALUES (?, ?, ?, NULL)", rows)


def get(db: sqlite3.Connection, plan: str) -> Plan | None:
    row = db.execute("SELECT * FROM plans WHERE id = ?", (plan,)).fetchone()
    if row is None:
        return None
    rows = db.execute("SELECT * FROM plan_rows WHERE plan = ? ORDER BY session", (plan,)).fetchall()
    return Plan(
        id=row["id"],
        orders=PlanRequest.from_document(json.loads(row["orders"])),
        made_at=row["made_at"],
        expires_at=row["expires_at"],
        state=PlanState(row["state"]),
        applied_at=row["applied_at"],
        rows=[_row(one, leaks=bool(json.loads(row["orders"]).get("leaks"))) for one in rows],
    )


def open_of(db: sqlite3.Connection, caller: str) -> list[Plan]:
    """Those of a caller that nobody has applied, the newest first; some may have expired."""
    rows = db.execute(
        "SELECT id FROM plans WHERE caller = ? AND state = 'made' ORDER BY made_at DESC LIMIT 50", (caller,)
    )
    return [plan for row in rows.fetchall() if (plan := get(db, row["id"])) is not None]


def begin(db: sqlite3.Connection, plan: Plan) -> bool:
    """From made to applying, with what it is applied under; False when somebody did that before."""
    values = (json.dumps(plan.orders.document()), plan.applied_at, plan.id)
    cursor = db.execute(
        "UPDATE plans SET state = 'applying', orders = ?, applied_at = ? WHERE id = ? AND state = 'made'", values
    )
    return cursor.rowcount == 1


def keep_outcome(db: sqlite3.Connection, plan: str, session: str, outcome: dict[str, Any]) -> None:
    db.execute("UPDATE plan_rows SET outcome = ? WHERE plan = ? AND session = ?", (json.dumps(outcome), plan, session))


def finish(db: sqlite3.Connection, plan: str) -> None:
    db.execute("UPDATE plans SET state = 'applied' WHERE id = ?", (plan,))


def unfinished(db: sqlite3.Connection) -> list[str]:
    """Plans whose apply was cut off, oldest first."""
    rows = db.execute("SELECT id FROM plans WHERE state = 'applying' ORDER BY applied_at").fetchall()
    return [row["id"] for row in rows]


def give_up(db: sqlite3.Connection) -> None:
    """Those of before a loss of the store: their rows may have been ended since, or kept on purpose."""
    db.execute("UPDATE plans SET state = 'lost' WHERE state IN ('made', 'applying')")


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Plans are kept for a week; one that is being applied for as long as that takes."""
    old = "SELECT id FROM plans WHERE made_at < ? AND state <> 'applying'"
    db.execute(f"DELETE FROM plan_rows WHERE plan IN ({old})", (at,))
    db.execute("DELETE FROM plans WHERE made_at < ? AND state <> 'applying'", (at,))


def keep_intent(db: sqlite3.Connection, plan: str, leak: Leak) -> None:
    """What of a leak is ended now: after a crash it is just that."""
    found = json.dumps({**leak.document(), "begun": True})
    db.execute("UPDATE plan_rows SET found = ? WHERE plan = ? AND session = ?", (found, plan, leak.id))


def _row(row: sqlite3.Row, *, leaks: bool) -> Row:
    outcome = json.loads(row["outcome"]) if row["outcome"] else None
    found = json.loads(row["found"])
    if not leaks:
        return Row(row["session"], Sighting.from_document(found), outcome)
    begun = found.pop("begun", False)
    return Row(row["session"], Leak.from_document(found), outcome, begun)
