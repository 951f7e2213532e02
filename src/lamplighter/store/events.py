"""Events (who did what to which session, and when) and the queries about them: append and read, nothing else."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Event:
    n: int
    at: float
    session: str | None
    by: str
    action: str
    detail: dict[str, Any]
    name: str | None = None


def append(db: sqlite3.Connection, at: float, session: str | None, by: str, action: str, **detail: Any) -> Event:
    row = (at, session, by, action, json.dumps(detail, separators=(",", ":")))
    cursor = db.execute("INSERT INTO events (at, session, by, action, detail) VALUES (?, ?, ?, ?, ?)", row)
    assert cursor.lastrowid is not None
    return Event(cursor.lastrowid, at, session, by, action, detail)


def newest(db: sqlite3.Connection, session: str | None, since: int, limit: int) -> list[Event]:
    """The newest after a number, oldest of them first."""
    where, values = ("AND session = ?", (session,)) if session else ("", ())
    rows = db.execute(
        "SELECT events.*, sessions.name FROM events LEFT JOIN sessions ON sessions.id = events.session "
        f"WHERE n > ? {where} ORDER BY n DESC LIMIT ?",
        (since, *values, limit),
    ).fetchall()
    return [_event(row) for row in reversed(rows)]


def sends_of(db: sqlite3.Connection, session: str) -> list[tuple[float, bool, float]]:
    """What was sent to a session, the newest first: when that was written down, whether it was keys, and when it began."""
    rows = db.execute(
        "SELECT at, detail FROM events WHERE session = ? AND action = 'send' ORDER BY n DESC LIMIT 100", (session,)
    ).fetchall()
    told = [(float(row["at"]), json.loads(row["detail"])) for row in rows]
    return [(at, bool(detail.get("keys")), float(detail.get("since", at))) for at, detail in told]


def _event(row: sqlite3.Row) -> Event:
    return Event(row["n"], row["at"], row["session"], row["by"], row["action"], json.loads(row["detail"]), row["name"])
