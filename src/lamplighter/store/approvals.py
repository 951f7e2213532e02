"""Queries about approvals: what was asked of the operator, and what became of it."""

from __future__ import annotations

import json
import sqlite3

from lamplighter.domain.approval import Approval, Standing
from lamplighter.domain.permission import Rank

_COLUMNS = (
    "id",
    "caller",
    "rank",
    "operation",
    "session",
    "digest",
    "why",
    "asked_at",
    "expires_at",
    "arguments",
    "state",
    "decided_by",
    "decided_at",
    "used_at",
    "key",
)
_OPEN = "state IN ('asked', 'granted') AND expires_at > ?"


def save(db: sqlite3.Connection, approval: Approval) -> None:
    """As it is now, whether it is new or not."""
    arguments = None if approval.arguments is None else json.dumps(approval.arguments)
    values = [arguments if name == "arguments" else getattr(approval, name) for name in _COLUMNS]
    db.execute(f"INSERT OR REPLACE INTO approvals VALUES ({', '.join('?' * len(_COLUMNS))})", values)


def get(db: sqlite3.Connection, identifier: str) -> Approval | None:
    row = db.execute("SELECT * FROM approvals WHERE id = ?", (identifier,)).fetchone()
    return _approval(row) if row else None


def beginning(db: sqlite3.Connection, prefix: str) -> list[Approval]:
    """Those whose ids begin so; two are enough to know that it is not one."""
    rows = db.execute("SELECT * FROM approvals WHERE substr(id, 1, ?) = ? LIMIT 2", (len(prefix), prefix))
    return [_approval(row) for row in rows.fetchall()]


def of_call(db: sqlite3.Connection, caller: str, operation: str, digest: str) -> list[Approval]:
    """Those that this caller asked for with these arguments, whatever became of them, the newest first."""
    rows = db.execute(
        "SELECT * FROM approvals WHERE caller = ? AND operation = ? AND digest = ? ORDER BY asked_at DESC",
        (caller, operation, digest),
    )
    return [_approval(row) for row in rows.fetchall()]


def count_open(db: sqlite3.Connection, caller: str, now: float) -> int:
    return db.execute(f"SELECT count(*) FROM approvals WHERE caller = ? AND {_OPEN}", (caller, now)).fetchone()[0]


def count_asked(db: sqlite3.Connection, now: float) -> int:
    """Those that wait for the operator, whoever asks."""
    query = "SELECT count(*) FROM approvals WHERE state = 'asked' AND expires_at > ?"
    return db.execute(query, (now,)).fetchone()[0]


def all_open(db: sqlite3.Connection, now: float) -> list[Approval]:
    """The oldest first: it expires first."""
    rows = db.execute(f"SELECT * FROM approvals WHERE {_OPEN} ORDER BY asked_at, id", (now,)).fetchall()
    return [_approval(row) for row in rows]


def blot_out_expired(db: sqlite3.Connection, now: float) -> None:
    """What was to be typed is not kept for longer than somebody can decide on it."""
    db.execute("UPDATE approvals SET arguments = NULL WHERE expires_at <= ? AND arguments IS NOT NULL", (now,))


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """They are kept for a week, as keys are."""
    db.execute("DELETE FROM approvals WHERE expires_at < ?", (at,))


def _approval(row: sqlite3.Row) -> Approval:
    values = {name: row[name] for name in _COLUMNS}
    values["rank"], values["state"] = Rank(row["rank"]), Standing(row["state"])
    values["arguments"] = None if row["arguments"] is None else json.loads(row["arguments"])
    return Approval(**values)
