"""Queries about recovery tokens. What is kept of a secret is its hash."""

from __future__ import annotations

import sqlite3

from lamplighter.domain.recovery import Recovery


def insert(db: sqlite3.Connection, made: Recovery) -> None:
    """The one way into a session that has ended: another that was not used yet opens nothing any more."""
    db.execute("DELETE FROM recoveries WHERE session = ? AND used_at IS NULL", (made.session,))
    values = (made.digest, made.session, made.agent, made.made_at, made.expires_at)
    db.execute("INSERT INTO recoveries (digest, session, agent, made_at, expires_at) VALUES (?, ?, ?, ?, ?)", values)


def get(db: sqlite3.Connection, digest: str) -> Recovery | None:
    row = db.execute("SELECT * FROM recoveries WHERE digest = ?", (digest,)).fetchone()
    return Recovery(**dict(row)) if row else None


def use(db: sqlite3.Connection, digest: str, at: float, by: str) -> bool:
    """False when it was used before."""
    done = db.execute(
        "UPDATE recoveries SET used_at = ?, used_by = ? WHERE digest = ? AND used_at IS NULL", (at, by, digest)
    )
    return bool(done.rowcount)


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Those that had expired by then."""
    db.execute("DELETE FROM recoveries WHERE expires_at < ?", (at,))
