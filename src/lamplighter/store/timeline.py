"""Queries that sum up: how much is kept about each project, and which sessions lived in a time. For the store's thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from lamplighter.lazy_dataclass import dataclass

_USED = ("$.summary.cpu", "$.summary.memory", "$.summary.tokens", "$.how", "$.exit")


@dataclass
class ProjectSummary:
    """What is kept about one project; `id` is None for what holds everywhere. `types` counts what is in force and was said,
    `inferred` what is in force and was only inferred, `closed` all the rest."""

    id: str | None
    name: str | None
    types: dict[str, int] = field(default_factory=dict[str, int])
    inferred: int = 0
    closed: int = 0
    handoffs: int = 0
    newest_at: float = 0.0


@dataclass(frozen=True)
class Span:
    """A session that has ended, as a stretch of time."""

    id: str
    name: str
    agent: str
    kind: str
    project: str | None
    project_id: str | None
    started_at: float
    ended_at: float
    how: str | None
    exit: dict[str, Any] | None
    cpu: float | None
    memory: int | None
    tokens: dict[str, int] | None


def shelves(db: sqlite3.Connection) -> list[ProjectSummary]:
    """Every project of which something is kept, the last changed first."""
    found: dict[str | None, ProjectSummary] = {}
    rows = db.execute(
        "SELECT records.project, name, type, source = 'inferred', state = 'active', count(*), max(created_at) FROM records "
        "LEFT JOIN projects ON projects.id = records.project WHERE state <> 'forgotten' GROUP BY 1, 2, 3, 4, 5"
    )
    for project, name, kind, inferred, active, number, newest in rows:
        shelf = found.setdefault(project, ProjectSummary(project, name))
        if not active:
            shelf.closed += number
        elif inferred:
            shelf.inferred += number
        else:
            shelf.types[kind] = number
        shelf.newest_at = max(shelf.newest_at, newest)
    rows = db.execute(
        "SELECT project, name, count(*), max(at) FROM handoffs LEFT JOIN projects ON projects.id = project "
        "WHERE evidence_of IS NULL GROUP BY 1, 2"
    )
    for project, name, number, newest in rows:
        shelf = found.setdefault(project, ProjectSummary(project, name))
        shelf.handoffs = number
        shelf.newest_at = max(shelf.newest_at, newest)
    return sorted(found.values(), key=lambda shelf: -shelf.newest_at)


def spans(db: sqlite3.Connection, since: float, until: float, limit: int) -> tuple[list[Span], int]:
    """Sessions that have ended and lived in this time, the last of them, and how many more there are. Of an ending only what is
    shown is read: its certificate may be long."""
    where = "FROM sessions WHERE state = 'ended' AND ended_at > ? AND coalesce(started_at, created_at) < ?"
    used = ", ".join(f"json_extract(ending, '{path}')" for path in _USED)
    rows = db.execute(
        "SELECT id, name, agent, kind, project, project_id, coalesce(started_at, created_at), ended_at, "
        f"{used} {where} ORDER BY ended_at DESC LIMIT ?",
        (since, until, limit),
    ).fetchall()
    total = (
        len(rows) if len(rows) < limit else int(db.execute(f"SELECT count(*) {where}", (since, until)).fetchone()[0])
    )
    return list(_spans(rows)), total - len(rows)


def _spans(rows: Iterable[sqlite3.Row]) -> Iterable[Span]:
    for *facts, cpu, memory, tokens, how, exit in rows:
        yield Span(*facts, how=how, exit=_read(exit), cpu=cpu, memory=memory, tokens=_read(tokens))


def _read(text: str | None) -> dict[str, Any] | None:
    return json.loads(text) if text else None


def first_start(db: sqlite3.Connection) -> float | None:
    """When the first session of all started; ids are in the order of their making."""
    row = db.execute("SELECT coalesce(started_at, created_at) FROM sessions ORDER BY id LIMIT 1").fetchone()
    return float(row[0]) if row else None
