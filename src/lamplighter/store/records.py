"""Queries about records. A row of `record_texts` has the number of its record, and its text as it is searched."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from lamplighter.domain.memory.record import NO_EVIDENCE, Record, RecordEvidence, RecordState, RecordType, Source
from lamplighter.domain.text.search_text import normalised

_COLUMNS = tuple(each.name for each in fields(Record) if each.name != "carried")
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


def in_force(db: sqlite3.Connection, project: str | None, type: RecordType, content: str) -> Record | None:
    """The oldest that says just this."""
    row = db.execute(
        # The plus keeps SQLite from putting the text in place of the column in substr(), where it would not know its index.
        "SELECT * FROM records INDEXED BY records_same "
        "WHERE substr(content, 1, 40) = substr(?, 1, 40) AND state = 'active' AND +content = ? "
        "AND type = ? AND project IS ? ORDER BY n LIMIT 1",
        (content, content, type, project),
    ).fetchone()
    return from_row(row) if row else None


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


def left_by(db: sqlite3.Connection, session: str, kind: RecordType, project: str | None) -> list[str]:
    """The ids of those of a type that a session left, as far as they are in force, oldest first."""
    rows = db.execute(
        "SELECT id FROM records WHERE session = ? AND type = ? AND project IS ? AND state = 'active' ORDER BY n",
        (session, kind, project),
    ).fetchall()
    return [str(row["id"]) for row in rows]


def open_loops(db: sqlite3.Connection, project: str | None, most: int) -> tuple[tuple[str, ...], int]:
    """The ids of the oldest, and how many there are."""
    where = "FROM records WHERE project IS ? AND state = 'active' AND type = 'open_loop'"
    rows = db.execute(f"SELECT id {where} ORDER BY created_at, id LIMIT ?", (project, most)).fetchall()
    count = len(rows) if len(rows) < most else db.execute(f"SELECT count(*) {where}", (project,)).fetchone()[0]
    return tuple(str(row["id"]) for row in rows), int(count)


def carried(db: sqlite3.Connection, found: Iterable[Record]) -> list[Record]:
    """The same, each open loop with how many sessions have handed off since and left it open: counted, not kept, as a project may
    have thousands of them. The session that left it does not count, and one that hands off twice counts once."""
    return [_carried(db, record) if record.type is RecordType.OPEN_LOOP else record for record in found]


def _carried(db: sqlite3.Connection, loop: Record) -> Record:
    row = db.execute(
        "SELECT count(DISTINCT session) FROM handoffs WHERE project IS ? AND at > ? AND at < ? AND source <> 'inferred' "
        "AND session IS NOT ?",
        (loop.project, loop.created_at, loop.closed_at or math.inf, loop.session),
    ).fetchone()
    return replace(loop, carried=int(row[0]))


def from_row(row: sqlite3.Row) -> Record:
    values: dict[str, Any] = dict(row)
    del values["n"]
    values["type"] = RecordType(values["type"])
    values["state"] = RecordState(values["state"])
    values["source"] = Source(values["source"])
    cited = values["evidence"]
    values["evidence"] = NO_EVIDENCE if cited == "{}" else RecordEvidence.from_document(json.loads(cited))
    return Record(**values)


def _row(record: Record) -> tuple[Any, ...]:
    values = {name: getattr(record, name) for name in _COLUMNS}
    values["evidence"] = json.dumps(record.evidence.document())
    return tuple(values.values())
