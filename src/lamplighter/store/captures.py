"""Queries about captures: what a session's transcript said at one moment."""

from __future__ import annotations

import json
import sqlite3

from lamplighter.domain.capture import MOST, Capture


def insert(db: sqlite3.Connection, capture: Capture, key: str) -> None:
    """Taken by the call with this key. Of one session the newest are kept."""
    about = {"reason": capture.reason, "path": capture.path}
    counted = {"redacted": capture.redacted, "withheld": capture.withheld}
    values = (capture.id, capture.session, capture.at, capture.by, capture.digest, key)
    db.execute(
        "INSERT INTO captures VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*values, json.dumps({**about, **counted, "document": capture.document})),
    )
    db.execute(
        "DELETE FROM captures WHERE session = ? AND id NOT IN "
        "(SELECT id FROM captures WHERE session = ? ORDER BY at DESC, id DESC LIMIT ?)",
        (capture.session, capture.session, MOST),
    )


def find(db: sqlite3.Connection, session: str, digest: str) -> Capture | None:
    """The one with this very content."""
    row = db.execute("SELECT * FROM captures WHERE session = ? AND digest = ?", (session, digest)).fetchone()
    return _capture(row) if row else None


def by_key(db: sqlite3.Connection, key: str) -> Capture | None:
    """The one that this call took."""
    row = db.execute("SELECT * FROM captures WHERE key = ?", (key,)).fetchone()
    return _capture(row) if row else None


def by_prefix(db: sqlite3.Connection, prefix: str) -> list[Capture]:
    """At most a few whose id begins so."""
    rows = db.execute(
        "SELECT * FROM captures WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", (prefix, prefix + "\U0010ffff")
    ).fetchall()
    return [_capture(row) for row in rows]


def newest(db: sqlite3.Connection, session: str | None, limit: int) -> list[Capture]:
    """Of one session or of all, the newest first."""
    where, values = ("WHERE session = ?", (session,)) if session else ("", ())
    rows = db.execute(f"SELECT * FROM captures {where} ORDER BY at DESC, id DESC LIMIT ?", (*values, limit)).fetchall()
    return [_capture(row) for row in rows]


def count(db: sqlite3.Connection, session: str | None) -> int:
    where, values = ("WHERE session = ?", (session,)) if session else ("", ())
    return int(db.execute(f"SELECT count(*) FROM captures {where}", values).fetchone()[0])


def _capture(row: sqlite3.Row) -> Capture:
    kept = json.loads(row["document"])
    return Capture(
        row["id"],
        row["session"],
        row["at"],
        row["by"],
        kept["reason"],
        kept["path"],
        row["digest"],
        kept["document"],
        kept["redacted"],
        kept["withheld"],
    )
