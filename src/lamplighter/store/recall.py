"""Queries that find records, and sessions that have ended by their summaries: the best first, or the newest.

What is asked here may look at a hundred thousand rows: for the store's thread.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from lamplighter.domain.memory.record import Record, RecordState, RecordType, Source
from lamplighter.domain.text.search_text import Query, normalised
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store.records import from_row

EVERY_PROJECT = None
MOST_COUNTED = 1000


@dataclass(frozen=True)
class Filter:
    """What may be found. `projects` are identities, or EVERY_PROJECT; `everywhere`: also what belongs to none. Nothing in
    `types` or `sources` means all of them. Times are of creation, `until` not included."""

    projects: tuple[str, ...] | None = EVERY_PROJECT
    everywhere: bool = True
    types: tuple[RecordType, ...] = ()
    states: tuple[RecordState, ...] = (RecordState.ACTIVE,)
    sources: tuple[Source, ...] = ()
    category: str | None = None
    since: float | None = None
    until: float | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """SQL, and its values."""
        parts: list[str] = []
        values: list[Any] = []
        for column, chosen in (("type", self.types), ("state", self.states), ("source", self.sources)):
            if chosen:
                parts.append(f"records.{column} IN ({', '.join('?' * len(chosen))})")
                values += chosen
        for text, value in (
            ("records.category = ?", self.category),
            ("records.created_at >= ?", self.since),
            ("records.created_at < ?", self.until),
        ):
            if value is not None:
                parts.append(text)
                values.append(value)
        text, places = _of_projects("records.project", self.projects, self.everywhere)
        return " AND ".join([*parts, text]), [*values, *places]


def _of_projects(column: str, projects: tuple[str, ...] | None, everywhere: bool) -> tuple[str, list[Any]]:
    if projects is None:
        return ("1" if everywhere else f"{column} IS NOT NULL"), []
    ways = [f"{column} IN ({', '.join('?' * len(projects))})"] if projects else []
    ways += [f"{column} IS NULL"] if everywhere else []
    return f"({' OR '.join(ways) or '0'})", list(projects)


def search(db: sqlite3.Connection, query: Query, wanted: Filter, limit: int, offset: int = 0) -> list[Record]:
    """The best first; of those that fit equally well, the newest."""
    text, values = wanted.condition()
    if not query.match:
        return _with(db, query.text, text, values, limit, offset)
    # Ranked by number first, so that only what is returned is read in full. A CROSS JOIN is SQLite's word for this order of the
    # two: left to choose, it may go through all records of a state and ask the index for each.
    rows = db.execute(
        "SELECT records.* FROM (SELECT records.n, bm25(record_texts) AS score FROM record_texts "
        f"CROSS JOIN records ON records.n = record_texts.rowid WHERE record_texts MATCH ? AND {text} "
        "ORDER BY score, records.created_at DESC, records.id DESC LIMIT ? OFFSET ?) AS best "
        "JOIN records ON records.n = best.n ORDER BY best.score, records.created_at DESC, records.id DESC",
        (query.match, *values, limit, offset),
    ).fetchall()
    return [from_row(row) for row in rows]


def count(db: sqlite3.Connection, query: Query | None, wanted: Filter) -> int:
    """How many there are of which a search or a list shows some; of a search it is MOST_COUNTED at most, as that takes long."""
    text, values = wanted.condition()
    if query is None:
        row = db.execute(f"SELECT count(*) FROM records WHERE {text}", values).fetchone()
    elif query.match:
        row = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM record_texts CROSS JOIN records ON records.n = record_texts.rowid "
            f"WHERE record_texts MATCH ? AND {text} LIMIT ?)",
            (query.match, *values, MOST_COUNTED),
        ).fetchone()
    else:
        row = db.execute(
            f"SELECT count(*) FROM records WHERE instr(content, ?) AND {text}", (query.text, *values)
        ).fetchone()
    return int(row[0])


def newest(db: sqlite3.Connection, wanted: Filter, limit: int, offset: int = 0) -> list[Record]:
    """All of them, the newest first."""
    text, values = wanted.condition()
    rows = db.execute(
        "SELECT records.* FROM (SELECT n FROM records WHERE "
        f"{text} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) AS chosen "
        "JOIN records ON records.n = chosen.n ORDER BY created_at DESC, id DESC",
        (*values, limit, offset),
    ).fetchall()
    return [from_row(row) for row in rows]


def _with(db: sqlite3.Connection, part: str, text: str, values: list[Any], limit: int, offset: int) -> list[Record]:
    """Those that have this in them as it stands, the newest first."""
    rows = db.execute(
        f"SELECT * FROM records WHERE instr(content, ?) AND {text} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
        (part, *values, limit, offset),
    ).fetchall()
    return [from_row(row) for row in rows]


# -- sessions


@dataclass(frozen=True)
class Summary:
    """What is known of a session that has ended, as far as a search shows it."""

    session: str
    name: str
    agent: str
    project: str | None
    ended_at: float | None
    text: str


def keep_summary(db: sqlite3.Connection, session: str, text: str) -> None:
    """What an ended session is found by. The last one counts."""
    forget_summary(db, session)
    number = db.execute("INSERT INTO summaries (session, text) VALUES (?, ?)", (session, text)).lastrowid
    db.execute("INSERT INTO session_texts (rowid, text) VALUES (?, ?)", (number, normalised(text)))


def forget_summary(db: sqlite3.Connection, session: str) -> None:
    db.execute("DELETE FROM session_texts WHERE rowid = (SELECT n FROM summaries WHERE session = ?)", (session,))
    db.execute("DELETE FROM summaries WHERE session = ?", (session,))


def search_sessions(
    db: sqlite3.Connection, query: Query, projects: tuple[str, ...] | None, limit: int,
    since: float | None = None, until: float | None = None,
) -> list[Summary]:  # fmt: skip
    """Sessions that have ended, the best first. Times are of their end."""
    text, values = _of_projects("sessions.project_id", projects, everywhere=projects is None)
    text += " AND sessions.ended_at >= ? AND sessions.ended_at < ?"
    values += [since or 0.0, until if until is not None else 1e18]
    if query.match:
        found = "session_texts CROSS JOIN summaries ON summaries.n = session_texts.rowid"
        condition, order, sought = "session_texts MATCH ?", "bm25(session_texts)", query.match
    else:
        found, condition, order, sought = "summaries", "instr(summaries.text, ?)", "sessions.ended_at DESC", query.text
    rows = db.execute(
        "SELECT sessions.id, sessions.name, sessions.agent, sessions.project_id, sessions.ended_at, summaries.text "
        f"FROM {found} CROSS JOIN sessions ON sessions.id = summaries.session "
        f"WHERE {condition} AND {text} ORDER BY {order}, sessions.id DESC LIMIT ?",
        (sought, *values, limit),
    ).fetchall()
    return [Summary(*row) for row in rows]
