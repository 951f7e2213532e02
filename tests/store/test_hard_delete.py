"""Forgetting for good, on an SQLite that leaves what it deletes on free pages: no byte of it stays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.domain.memory.record import Record, RecordType, Source
from lamplighter.store import hard_delete, recall, records
from lamplighter.store.migrations import migrate

WORD = "xylophonequartz"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    made.row_factory = sqlite3.Row
    for setting in ("journal_mode = WAL", "secure_delete = OFF", "wal_autocheckpoint = 0"):
        made.execute(f"PRAGMA {setting}")
    migrate(made)
    yield made
    made.close()


def keep(db: sqlite3.Connection, identifier: str, content: str) -> Record:
    record = Record(identifier, RecordType.NOTE, content, "general", 5, 1.0, "operator", Source.OPERATOR)
    records.insert(db, record)
    return record


def is_there(folder: Path) -> bool:
    return any(WORD.encode() in path.read_bytes() for path in folder.iterdir())


def test_no_byte_is_left_once_it_is_scoured(db: sqlite3.Connection, tmp_path: Path) -> None:
    for number in range(300):
        keep(db, f"r{number:03}", f"filler {number} " * 30)
    record = keep(db, "rx", f"the {WORD} is here — „so“")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("BEGIN")
    hard_delete.erase(db, record)
    db.execute("COMMIT")
    assert hard_delete.is_due(db)
    assert is_there(tmp_path), "the pages are not written anew yet"
    assert hard_delete.scour(db)
    assert not hard_delete.is_due(db)
    assert not is_there(tmp_path)
    assert recall.count(db, None, recall.Filter()) == 300
    db.execute("INSERT INTO record_texts (record_texts) VALUES ('integrity-check')")


def test_it_stays_due_while_somebody_else_reads(db: sqlite3.Connection, tmp_path: Path) -> None:
    record = keep(db, "rx", f"the {WORD} is here")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM records").fetchone()
    hard_delete.erase(db, record)
    assert not hard_delete.scour(db)
    assert hard_delete.is_due(db)
    other.close()
    assert hard_delete.scour(db)
    assert not is_there(tmp_path)


def test_copies_of_the_text_go_and_what_only_looks_like_it_stays(db: sqlite3.Connection) -> None:
    long, short = keep(db, "r1", 'the "blue" cupboard — here'), keep(db, "r2", "yes")
    for key, text in (("a", long.content), ("b", f"before {long.content} after"), ("c", "yes"), ("d", "yesterday")):
        kept = json.dumps({"told": [text]}, ensure_ascii=key == "a")
        db.execute("INSERT INTO calls VALUES (?, 'o', 'c', 'd', 'done', ?, 1.0)", (key, kept))
    hard_delete.erase(db, long)
    hard_delete.erase(db, short)
    found = {row["key"]: json.loads(row["result"])["told"][0] for row in db.execute("SELECT key, result FROM calls")}
    assert found == {"a": "[forgotten]", "b": "before [forgotten] after", "c": "[forgotten]", "d": "yesterday"}


def test_a_short_text_goes_from_what_is_about_it_and_from_nowhere_else(db: sqlite3.Connection) -> None:
    record = keep(db, "r0123456789", "hunter2")
    about = {"records": [record.id], "summary": "Checkpoint: hunter2. Decisions: 1", "reason": "hunter2b"}
    for key, document in (("a", about), ("b", {"summary": "we met hunter2 there"})):
        db.execute("INSERT INTO calls VALUES (?, 'o', 'c', 'd', 'done', ?, 1.0)", (key, json.dumps(document)))
    hard_delete.erase(db, record)
    found = {row["key"]: json.loads(row["result"]) for row in db.execute("SELECT key, result FROM calls")}
    assert found["a"] == {**about, "summary": "Checkpoint: [forgotten]. Decisions: 1"}
    assert found["b"] == {"summary": "we met hunter2 there"}


def test_what_a_note_was_put_together_from_goes_with_it(db: sqlite3.Connection) -> None:
    note = keep(db, "r0123456789", "Handed over to b (0abc), urgency high; context: the door code; blocker: 4711")
    told = {"notes": [note.id], "context": "the door code", "blocker": "4711", "urgency": "high"}
    db.execute("INSERT INTO calls VALUES ('a', 'o', 'c', 'd', 'done', ?, 1.0)", (json.dumps(told),))
    hard_delete.erase(db, note)
    (row,) = db.execute("SELECT result FROM calls").fetchall()
    assert json.loads(row["result"]) == {**told, "context": "[forgotten]", "blocker": "[forgotten]"}
