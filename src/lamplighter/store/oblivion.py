"""Forgetting for good: a record's row, its words in the index, every copy of its text in what is kept of calls, hand-offs and
sessions; then the pages that all of it was on.

SQLite only marks what is deleted as free, and FTS5 only notes that it is gone. So the index is built anew, the file written
anew, and the log of writes emptied. Takes as long as that takes: for the store's thread.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, cast

from lamplighter.domain.record import Record
from lamplighter.store import recall

FORGOTTEN = "[forgotten]"
_DOCUMENTS = (
    ("calls", "key", "result"),
    ("handoffs", "id", "document"),
    ("receipts", "id", "document"),
    ("captures", "id", "document"),
    ("sessions", "id", "ending"),
    ("sessions", "id", "intent"),
    ("sessions", "id", "facts"),
    ("sessions", "id", "command"),
    ("approvals", "id", "arguments"),
    ("captures", "id", "document"),
)
"""Tables, their keys, and columns of JSON in which a record's text can be."""
_SHORT = 12  # below this a text is found inside others by chance, and only a whole string is it


def erase(db: sqlite3.Connection, record: Record) -> list[str]:
    """Everything that says what it said; from here on `is_due`. Sessions that were given it in a packet come back."""
    number = db.execute("SELECT n FROM records WHERE id = ?", (record.id,)).fetchone()
    if number is not None:
        db.execute("DELETE FROM record_texts WHERE rowid = ?", (number["n"],))
        db.execute("DELETE FROM records WHERE n = ?", (number["n"],))
    db.execute("UPDATE records SET supersedes = NULL WHERE supersedes = ?", (record.id,))
    db.execute("UPDATE records SET superseded_by = NULL WHERE superseded_by = ?", (record.id,))
    for table, key, column in _DOCUMENTS:
        _blot_out(db, table, key, column, record.content)
    for row in db.execute("SELECT session, text FROM summaries WHERE instr(text, ?)", (record.content,)).fetchall():
        recall.keep_summary(db, row["session"], _without(row["text"], record.content))
    db.execute("INSERT OR REPLACE INTO meta VALUES ('scour', ?)", (record.id,))
    rows = db.execute(
        "SELECT DISTINCT session FROM receipts WHERE session IS NOT NULL AND instr(document, ?)", (record.id,)
    ).fetchall()
    return [row["session"] for row in rows]


def is_due(db: sqlite3.Connection) -> bool:
    """Whether something was erased whose pages are still there."""
    return db.execute("SELECT 1 FROM meta WHERE name = 'scour'").fetchone() is not None


def scour(db: sqlite3.Connection) -> bool:
    """No byte of what was erased is left in the store's files. Safe to repeat; False when somebody else reads the store now, and
    it is still due."""
    for table in ("record_texts", "session_texts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    db.execute("VACUUM")
    if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        return False
    db.execute("DELETE FROM meta WHERE name = 'scour'")
    return True


def _blot_out(db: sqlite3.Connection, table: str, key: str, column: str, content: str) -> None:
    spelt = {json.dumps(content)[1:-1], json.dumps(content, ensure_ascii=False)[1:-1]}
    where = " OR ".join(f"instr({column}, ?)" for _ in spelt)
    rows = db.execute(f"SELECT {key} AS at, {column} AS text FROM {table} WHERE {where}", tuple(spelt)).fetchall()
    for row in rows:
        cleaned = json.dumps(_cleaned(json.loads(row["text"]), content))
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (cleaned, row["at"]))


def _cleaned(found: Any, content: str) -> Any:
    if isinstance(found, str):
        return _without(found, content)
    if isinstance(found, list):
        return [_cleaned(each, content) for each in cast("list[Any]", found)]
    if isinstance(found, dict):
        return {name: _cleaned(value, content) for name, value in cast("dict[str, Any]", found).items()}
    return found


def _without(text: str, content: str) -> str:
    if text == content:
        return FORGOTTEN
    return text.replace(content, FORGOTTEN) if len(content) >= _SHORT else text
