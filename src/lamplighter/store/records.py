"""Queries about records. A row of `record_texts` has the number of its record, and its text as it is searched."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from lamplighter.domain.record import NO_EVIDENCE, Evidence, Record, RecordState, RecordType, Source
from lamplighter.domain.wording import normalised

_COLUMNS = tuple(each.name for each in fields(Record))
_INSERT = f"INSERT INTO records ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"


def insert(db: sqlite3.Connection, record: Record, wording: str | None = None) -> None:
    """A new record, and its text to be found by; one that is forgotten has none. `wording`: where it is normalised already."""
    number = db.execute(_INSERT, _row(record)).lastrowid
    if record.state is not RecordState.FORGOTTEN:
        text = normalised(record.content) if wording is None else wording
        db.execute("INSERT INTO record_texts (rowid, text) VALUES (?, ?)", (number, text))


def get(db: sqlite3.Connection, record: str) -> Record | None:
    row = db.execute("SELECT * FROM records WHERE id = ?", (record,)).fetchone()
    return from_row(row) if row else None


def by_prefix(db: sqlite3.Connection, prefix: str) -> list[Record]:
    """At most a few whose id begins so."""
    rows = db.execute(
        "SELECT * FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", (prefix, prefix + "\U0010ffff")
    ).fetchall()
    return [from_row(row) for row in rows]


def active(db: sqlite3.Connection, project: str | None, *types: RecordType) -> list[Record]:
    """Those in force of one project, or those that hold everywhere, oldest first."""
    kinds = types or tuple(RecordType)
    rows = db.execute(
        f"SELECT * FROM records WHERE project IS ? AND state = 'active' AND type IN ({', '.join('?' * len(kinds))}) "
        "ORDER BY created_at, id",
        (project, *kinds),
    ).fetchall()
    return [from_row(row) for row in rows]


def in_force(db: sqlite3.Connection, project: str | None, type: RecordType, content: str) -> Record | None:
    """The oldest that says just this."""
    row = db.execute(
        "SELECT * FROM records WHERE substr(content, 1, 40) = substr(?, 1, 40) AND state = 'active' AND content = ? "
        "AND type = ? AND project IS ? ORDER BY n LIMIT 1",
        (content, content, type, project),
    ).fetchone()
    return from_row(row) if row else None


def of_handoff(db: sqlite3.Connection, handoff: str) -> list[Record]:
    rows = db.execute("SELECT * FROM records WHERE handoff = ? ORDER BY n", (handoff,)).fetchall()
    return [from_row(row) for row in rows]


def notes_of(db: sqlite3.Connection, session: str) -> list[Record]:
    """What was noted on a session by those who were there, oldest first."""
    rows = db.execute(
        "SELECT * FROM records WHERE session = ? AND type = 'note' AND source = 'agent' AND state <> 'forgotten' ORDER BY n",
        (session,),
    ).fetchall()
    return [from_row(row) for row in rows]


def close(
    db: sqlite3.Connection,
    record: str,
    state: RecordState,
    at: float,
    by: str,
    why: str | None = None,
    superseded_by: str | None = None,
) -> bool:
    """Out of force; False when it was already. What is forgotten is found no more."""
    done = db.execute(
        "UPDATE records SET state = ?, closed_at = ?, closed_by = ?, closed_why = ?, superseded_by = ? "
        "WHERE id = ? AND (state = 'active' OR ? = 'forgotten' AND state <> 'forgotten')",
        (state, at, by, why, superseded_by, record, state),
    ).rowcount
    if done and state is RecordState.FORGOTTEN:
        db.execute("DELETE FROM record_texts WHERE rowid = (SELECT n FROM records WHERE id = ?)", (record,))
    return bool(done)


def carry(db: sqlite3.Connection, loops: Iterable[str]) -> None:
    """One more hand-off has left them open."""
    db.executemany("UPDATE records SET carried = carried + 1 WHERE id = ?", ((loop,) for loop in loops))


def from_row(row: sqlite3.Row) -> Record:
    values: dict[str, Any] = dict(row)
    del values["n"]
    values["type"] = RecordType(values["type"])
    values["state"] = RecordState(values["state"])
    values["source"] = Source(values["source"])
    cited = values["evidence"]
    values["evidence"] = NO_EVIDENCE if cited == "{}" else Evidence.from_document(json.loads(cited))
    return Record(**values)


def _row(record: Record) -> tuple[Any, ...]:
    values = {name: getattr(record, name) for name in _COLUMNS}
    values["evidence"] = json.dumps(record.evidence.document())
    return tuple(values.values())
