"""Forgetting for good: a record's row, its words in the index, every copy of its text in what is kept of calls, hand-offs and
sessions; then the pages that all of it was on.

SQLite only marks what is deleted as free, and FTS5 only notes that it is gone. So the index is built anew, the file written
anew, and the log of writes emptied. Takes as long as that takes: for the store's thread.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any, cast

from lamplighter.domain.memory.record import Record
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import recall

FORGOTTEN = "[forgotten]"
_DOCUMENTS = (
    ("calls", "key", "result"),
    ("handoffs", "id", "document"),
    ("sessions", "id", "ending"),
    ("sessions", "id", "intent"),
    ("sessions", "id", "facts"),
    ("sessions", "id", "command"),
    ("approvals", "id", "arguments"),
    ("captures", "id", "document"),
)
"""Tables, their keys, and columns of JSON in which a record's text can be."""
_WORDS = frozenset(
    [
        *(
            "content",
            "text",
            "summary",
            "reason",
            "epitaph",
            "transcript_path",
            "basis",
            "why",
            "closed_why",
            "subject",
        ),
        *(
            "last_lines",
            "told",
            "packet",
            "context",
            "blocker",
            "last_request",
            "last_answer",
            "running",
            "todos",
            "files",
        ),
        *("checkpoint", "decisions", "open_loops", "preferences", "constraints", "warnings"),
        *("relational_delta", "next_session_focus"),
    ]
)
"""Fields in which people and agents speak. What stands in any other is ours: a state, a name or an id is no copy of a record
that happens to say the same."""
_ONLY_TOLD = frozenset({"result", "command"})
"""Columns that nothing is decided by: there a long text goes wherever it stands."""
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
        _blot_out(db, table, key, column, record)
    for row in db.execute("SELECT session, text FROM summaries WHERE instr(text, ?)", (record.content,)).fetchall():
        named = row["session"] == record.session
        recall.keep_summary(db, row["session"], _Copies(record.content, named, True).without(row["text"]))
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


def _blot_out(db: sqlite3.Connection, table: str, key: str, column: str, record: Record) -> None:
    spelt = [record.id, json.dumps(record.content)[1:-1], json.dumps(record.content, ensure_ascii=False)[1:-1]]
    where = " OR ".join(f"instr({column}, ?)" for _ in spelt)
    rows = db.execute(f"SELECT {key} AS at, {column} AS text FROM {table} WHERE {where}", spelt).fetchall()
    for row in rows:
        copies = _Copies(record.content, record.id in row["text"], column in _ONLY_TOLD)
        before = json.loads(row["text"])
        cleaned = copies.cleaned(before)
        if cleaned != before:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (json.dumps(cleaned), row["at"]))


@dataclass(frozen=True)
class _Copies:
    """What is to go. `named`: the document is about the record, so that a short text in it is no chance, and what the record was
    put together from is its text too. `anywhere`: a long text goes from every field."""

    content: str
    named: bool
    anywhere: bool

    def cleaned(self, found: Any, spoken: bool = False) -> Any:
        if isinstance(found, str):
            return self.without(found) if spoken or (self.anywhere and len(self.content) >= _SHORT) else found
        if isinstance(found, list):
            return [self.cleaned(each, spoken) for each in cast("list[Any]", found)]
        if isinstance(found, dict):
            fields = cast("dict[str, Any]", found).items()
            return {name: self.cleaned(value, spoken or _is_spoken(name, value)) for name, value in fields}
        return found

    def without(self, text: str) -> str:
        if text == self.content or (self.named and self._is_part(text)):
            return FORGOTTEN
        if len(self.content) >= _SHORT:
            return text.replace(self.content, FORGOTTEN)
        return re.sub(rf"(?<!\w){re.escape(self.content)}(?!\w)", FORGOTTEN, text) if self.named else text

    def _is_part(self, text: str) -> bool:
        """As a note is made of what was said: `context: …; blocker: …`."""
        return bool(text) and re.search(rf": {re.escape(text)}(?:;|$)", self.content) is not None


def _is_spoken(name: str, value: Any) -> bool:
    """A document in such a field has fields of its own, but for what somebody told of themselves."""
    return name in _WORDS and (name == "told" or not isinstance(value, dict))
