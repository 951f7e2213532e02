"""Queries about aliases: what others call a session. Each caller's names are a namespace of their own.

A name is never given again to another session where it was given before, unless it was ended (`until`) in between and its
namespace gives names again, as tmux does; or shares them, as delx does: there a name is an agent's, with all its sessions; or
hands them on, as agents do: a conversation goes on in another session, and a session in another conversation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

_MANY = 500  # how many questions one query may carry


def give(db: sqlite3.Connection, namespace: str, value: str, session: str, at: float, *, again: bool = False) -> bool:
    """The session is known by this from now on; False when it is another's. With `again`, one that was ended can be given."""
    free = "AND until IS NULL" if again else ""
    taken = db.execute(
        f"SELECT session FROM aliases WHERE namespace = ? AND value = ? AND session <> ? {free}",
        (namespace, value, session),
    )
    if taken.fetchone() is not None:
        return False
    db.execute(
        "INSERT INTO aliases (namespace, value, session, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (namespace, value, session, at),
    )
    return True


def share(db: sqlite3.Connection, namespace: str, value: str, session: str, at: float) -> None:
    """The session is known by this beside all others that are: an agent's id stands for each of its sessions."""
    db.execute(
        "INSERT INTO aliases (namespace, value, session, at) VALUES (?, ?, ?, ?)", (namespace, value, session, at)
    )


def turn_to(db: sqlite3.Connection, namespace: str, value: str, session: str, at: float) -> None:
    """The session is known by this and by nothing else of the namespace from now on, whoever was known by it before."""
    end(db, namespace, session, at)
    db.execute(
        "INSERT INTO aliases (namespace, value, session, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET at = excluded.at, until = NULL",
        (namespace, value, session, at),
    )


def sharing(db: sqlite3.Connection, namespace: str, value: str, limit: int) -> list[str]:
    """The ids of the sessions that are known by this, the newest first."""
    rows = db.execute(
        "SELECT session FROM aliases WHERE namespace = ? AND value = ? ORDER BY session DESC LIMIT ?",
        (namespace, value, limit),
    )
    return [str(row[0]) for row in rows.fetchall()]


def values_of(db: sqlite3.Connection, namespace: str, session: str) -> list[str]:
    """All that a session is known by."""
    rows = db.execute("SELECT value FROM aliases WHERE namespace = ? AND session = ?", (namespace, session)).fetchall()
    return [str(row[0]) for row in rows]


def find(db: sqlite3.Connection, namespace: str, value: str) -> str | None:
    """The id of the session that is known by this: the one that has it now, else the last that had."""
    row = db.execute(
        "SELECT session FROM aliases WHERE namespace = ? AND value = ? ORDER BY until IS NOT NULL, at DESC LIMIT 1",
        (namespace, value),
    ).fetchone()
    return str(row[0]) if row else None


def last_in(db: sqlite3.Connection, namespace: str, folders: Sequence[str]) -> tuple[str, str] | None:
    """Of what sessions in these folders were known by, the last that was given: the session's id, and the name."""
    row = db.execute(
        "SELECT aliases.session, value FROM aliases JOIN sessions ON sessions.id = aliases.session"
        f" WHERE namespace = ? AND cwd IN ({', '.join('?' * len(folders))}) ORDER BY aliases.at DESC, sessions.id DESC LIMIT 1",
        (namespace, *folders),
    ).fetchone()
    return (str(row[0]), str(row[1])) if row else None


def living_with(db: sqlite3.Connection, namespace: str, value: str) -> tuple[str, str] | None:
    """The id and name of a session that has not ended and is known by this now."""
    row = db.execute(
        "SELECT sessions.id, name FROM aliases JOIN sessions ON sessions.id = aliases.session"
        " WHERE namespace = ? AND value = ? AND until IS NULL AND state <> 'ended' LIMIT 1",
        (namespace, value),
    ).fetchone()
    return (str(row[0]), str(row[1])) if row else None


def of_sessions(db: sqlite3.Connection, namespace: str, sessions: Iterable[str]) -> dict[str, tuple[str, float | None]]:
    """What each is known by, the newest where there are several, and until when."""
    found: dict[str, tuple[str, float | None]] = {}
    asked = list(sessions)
    for begin in range(0, len(asked), _MANY):
        part = asked[begin : begin + _MANY]
        rows = db.execute(
            "SELECT session, value, until FROM aliases WHERE namespace = ? AND session IN "
            f"({', '.join('?' * len(part))}) ORDER BY at",
            (namespace, *part),
        )
        found |= {row["session"]: (row["value"], row["until"]) for row in rows.fetchall()}
    return found


def end(db: sqlite3.Connection, namespace: str, session: str, at: float) -> None:
    """The session is not known by its names in this namespace any more; that it was stays on record."""
    db.execute(
        "UPDATE aliases SET until = ? WHERE namespace = ? AND session = ? AND until IS NULL", (at, namespace, session)
    )


def forget(db: sqlite3.Connection, session: str) -> None:
    """Only for a session that never started."""
    db.execute("DELETE FROM aliases WHERE session = ?", (session,))
