"""Queries that go through everything that is kept: projects, hand-offs and records, each by id, some at a time."""

from __future__ import annotations

import json
import sqlite3

from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.record import Record
from lamplighter.store.records import from_row

PROJECTS, HANDOFFS, RECORDS = "projects", "handoffs", "records"

Row = tuple[str, str, float]
"""Identity, name and when it was last seen."""


def projects(db: sqlite3.Connection, after: str, project: str | None, limit: int) -> list[Row]:
    rows = db.execute(*_query(PROJECTS, "id", after, project, limit)).fetchall()
    return [(row["id"], row["name"], row["seen_at"]) for row in rows]


def handoffs(db: sqlite3.Connection, after: str, project: str | None, limit: int) -> list[Handoff]:
    rows = db.execute(*_query(HANDOFFS, "project", after, project, limit)).fetchall()
    return [Handoff.from_document(json.loads(row["document"])) for row in rows]


def records(db: sqlite3.Connection, after: str, project: str | None, limit: int) -> list[Record]:
    rows = db.execute(*_query(RECORDS, "project", after, project, limit)).fetchall()
    return [from_row(row) for row in rows]


def project(db: sqlite3.Connection, identity: str) -> Row | None:
    row = db.execute("SELECT * FROM projects WHERE id = ?", (identity,)).fetchone()
    return (row["id"], row["name"], row["seen_at"]) if row else None


def _query(
    table: str, column: str, after: str, project: str | None, limit: int
) -> tuple[str, tuple[str | int, ...]]:  # fmt: skip
    where, values = (f"AND {column} = ?", (project,)) if project is not None else ("", ())
    return f"SELECT * FROM {table} WHERE id > ? {where} ORDER BY id LIMIT ?", (after, *values, limit)
