"""Queries that a boot packet is made of, and the receipts of those delivered. Rows that cannot fit are counted, not read."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from lamplighter.domain.memory.packet import least_size
from lamplighter.domain.memory.record import SINGULAR, Record, RecordType
from lamplighter.domain.text.search_text import query
from lamplighter.store import recall
from lamplighter.store.recall import Filter
from lamplighter.store.records import carried, from_row


def counts(db: sqlite3.Connection, project: str | None) -> dict[RecordType, int]:
    """How many of each type are in force in a project, or everywhere."""
    # One by one is a third faster than grouped: nothing of a row has to be looked at.
    count = "SELECT count(*) FROM records WHERE project IS ? AND state = 'active' AND type = ?"
    return {kind: int(db.execute(count, (project, kind)).fetchone()[0]) for kind in RecordType}


def oldest(db: sqlite3.Connection, project: str | None, kind: RecordType, room: int | None) -> list[Record]:
    """The first that are in force of one type, as many as could be shown in so many bytes; all of them without a room."""
    return _some(db, project, kind, room, "created_at, id")


def newest(db: sqlite3.Connection, project: str | None, kind: RecordType, room: int | None) -> list[Record]:
    return _some(db, project, kind, room, "created_at DESC, id DESC")


def _some(db: sqlite3.Connection, project: str | None, kind: RecordType, room: int | None, order: str) -> list[Record]:
    """Rows are taken one by one until no more can fit: how many that is depends on how long they are."""
    found: list[Record] = []
    rows = db.execute(
        f"SELECT * FROM records WHERE project IS ? AND state = 'active' AND type = ? ORDER BY {order}", (project, kind)
    )
    for row in rows:
        found.append(from_row(row))
        if room is not None:
            room -= least_size(row["id"], row["content"])
            if room < 0:
                break
    rows.close()
    return carried(db, found)


def left_by(db: sqlite3.Connection, session: str) -> list[Record]:
    """What a session left that there is one of, notes that were inferred from it, and those that others handed to it (they are
    context, while other notes are general), as far as it is in force; the newest first, but notes in their order."""
    rows = db.execute(
        f"SELECT * FROM records WHERE session = ? AND state = 'active' AND (type IN ({', '.join('?' * len(SINGULAR))}) "
        "OR type = 'note' AND (source = 'inferred' OR source = 'agent' AND category = 'context')) "
        "ORDER BY type = 'note', CASE type WHEN 'note' THEN n ELSE -n END",
        (session, *sorted(SINGULAR)),
    ).fetchall()
    return [from_row(row) for row in rows]


def fitting(db: sqlite3.Connection, project: str | None, prompt: str, limit: int) -> list[Record]:
    """Records in force that fit a prompt, the best first."""
    asked = query(prompt) if prompt.replace("\0", " ").strip() else None
    return recall.search(db, asked, Filter((project,) if project else ()), limit) if asked and asked.match else []


def ended_since(
    db: sqlite3.Connection, project: str, at: float, but: tuple[str | None, str | None], limit: int
) -> tuple[list[str], int]:
    """Ids of a project's sessions that ended after this, the newest first, and how many there are in all."""
    where = "FROM sessions WHERE project_id = ? AND ended_at > ? AND id IS NOT ? AND id IS NOT ?"
    values = (project, at, *but)
    rows = db.execute(f"SELECT id {where} ORDER BY ended_at DESC, id DESC LIMIT ?", (*values, limit)).fetchall()
    return [str(row["id"]) for row in rows], int(db.execute(f"SELECT count(*) {where}", values).fetchone()[0])


def keep_receipt(db: sqlite3.Connection, receipt: dict[str, Any]) -> None:
    """What was delivered to whom."""
    columns = ("packet", "at", "caller", "session", "predecessor", "project")
    values = [receipt[name] for name in columns]
    db.execute("INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, json.dumps(receipt)))


def was_delivered(db: sqlite3.Connection, session: str) -> bool:
    """Whether a session was ever given a packet."""
    return db.execute("SELECT 1 FROM receipts WHERE session = ? LIMIT 1", (session,)).fetchone() is not None


def receipt(db: sqlite3.Connection, packet: str) -> dict[str, Any] | None:
    row = db.execute("SELECT document FROM receipts WHERE id = ?", (packet,)).fetchone()
    return json.loads(row["document"]) if row else None
