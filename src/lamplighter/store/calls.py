"""Queries about calls: what was asked for under which key, and what came of it."""

from __future__ import annotations

import sqlite3

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class KeptCall:
    """Claimed until its result is known; then done."""

    key: str
    operation: str
    caller: str
    digest: str
    result: str | None


def find(db: sqlite3.Connection, key: str) -> KeptCall | None:
    """What is kept under this key."""
    row = db.execute("SELECT * FROM calls WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    return KeptCall(row["key"], row["operation"], row["caller"], row["digest"], row["result"])


def keep(db: sqlite3.Connection, call: KeptCall, at: float) -> None:
    """Unless something is kept under its key already."""
    state = "claimed" if call.result is None else "done"
    values = (call.key, call.operation, call.caller, call.digest, state, call.result, at)
    db.execute("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def claim(db: sqlite3.Connection, call: KeptCall, at: float) -> KeptCall | None:
    """Take the key; or, when it was taken before, what is kept under it."""
    found = find(db, call.key)
    if found is None:
        keep(db, call, at)
    return found


def finish(db: sqlite3.Connection, key: str, result: str) -> None:
    db.execute("UPDATE calls SET state = 'done', result = ? WHERE key = ?", (result, key))


def release(db: sqlite3.Connection, key: str) -> None:
    """Nothing was changed under this key: it may be tried again."""
    db.execute("DELETE FROM calls WHERE key = ? AND state = 'claimed'", (key,))


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Keys are kept for a week."""
    db.execute("DELETE FROM calls WHERE at < ?", (at,))
