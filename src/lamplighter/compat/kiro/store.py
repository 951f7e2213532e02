"""Queries about sessions of kiro-cli, their turns and their history."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import astuple
from typing import Any

from lamplighter.compat.kiro.model import KiroSession, Remark, Turn, TurnKind, TurnState

# -- sessions


def insert_session(db: sqlite3.Connection, session: KiroSession) -> None:
    db.execute("INSERT INTO kiro_sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(session))


def session(db: sqlite3.Connection, identifier: str, owner: str) -> KiroSession | None:
    """An open one of this owner's; another's is not there."""
    row = db.execute(
        "SELECT * FROM kiro_sessions WHERE id = ? AND owner = ? AND ended_at IS NULL", (identifier, owner)
    ).fetchone()
    return KiroSession(**dict(row)) if row else None


def session_by_key(db: sqlite3.Connection, owner: str, key: str) -> KiroSession | None:
    """The one that was made, or ended, under this key."""
    row = db.execute("SELECT * FROM kiro_sessions WHERE owner = ? AND key = ?", (owner, key)).fetchone()
    return KiroSession(**dict(row)) if row else None


def open_sessions(db: sqlite3.Connection, owner: str | None = None) -> list[KiroSession]:
    """The oldest first; of everybody when no owner is named."""
    where, values = ("AND owner = ?", (owner,)) if owner is not None else ("", ())
    rows = db.execute(
        f"SELECT * FROM kiro_sessions WHERE ended_at IS NULL {where} ORDER BY created_at, id", values
    ).fetchall()
    return [KiroSession(**dict(row)) for row in rows]


def end_session(db: sqlite3.Connection, ended: KiroSession, at: float, why: str, key: str | None) -> bool:
    """False when it had ended before. When it was the active one, the oldest left becomes that, or none."""
    changed = db.execute(
        "UPDATE kiro_sessions SET ended_at = ?, why = ?, key = coalesce(?, key) WHERE id = ? AND ended_at IS NULL",
        (at, why, key, ended.id),
    ).rowcount
    if active(db, ended.owner) == ended.id:
        left = open_sessions(db, ended.owner)
        activate(db, ended.owner, left[0].id if left else None)
    return changed == 1


def touch(db: sqlite3.Connection, identifier: str, at: float, turns: int | None = None) -> None:
    db.execute(
        "UPDATE kiro_sessions SET last_active = max(last_active, ?), turns = coalesce(?, turns) WHERE id = ?",
        (at, turns, identifier),
    )


def active(db: sqlite3.Connection, owner: str) -> str | None:
    row = db.execute("SELECT session FROM kiro_active WHERE owner = ?", (owner,)).fetchone()
    return str(row[0]) if row else None


def activate(db: sqlite3.Connection, owner: str, identifier: str | None) -> None:
    if identifier is None:
        db.execute("DELETE FROM kiro_active WHERE owner = ?", (owner,))
    else:
        db.execute("INSERT OR REPLACE INTO kiro_active VALUES (?, ?)", (owner, identifier))


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Sessions that ended long ago, with all that belongs to them."""
    old = "SELECT id FROM kiro_sessions WHERE ended_at < ?"
    for table in ("kiro_turns", "kiro_history"):
        db.execute(f"DELETE FROM {table} WHERE session IN ({old})", (at,))
    db.execute("DELETE FROM kiro_sessions WHERE ended_at < ?", (at,))


# -- turns


def insert_turn(db: sqlite3.Connection, turn: Turn) -> None:
    values = (
        turn.id, turn.session, turn.owner, turn.kind.value, turn.message, turn.resumes, turn.key, turn.created_at,
        turn.state.value, turn.stopped, turn.ended_at, json.dumps(turn.chunks), turn.errors, turn.failure, turn.exit_code,
        json.dumps(turn.times),
    )  # fmt: skip
    db.execute(f"INSERT INTO kiro_turns VALUES ({', '.join('?' * len(values))})", values)


def delete_turn(db: sqlite3.Connection, identifier: str) -> None:
    """Only for one that never started: it was never said."""
    db.execute("DELETE FROM kiro_turns WHERE id = ?", (identifier,))
    db.execute("DELETE FROM kiro_history WHERE turn = ?", (identifier,))


def turn(db: sqlite3.Connection, identifier: str, owner: str) -> Turn | None:
    return _one(db, "id = ? AND owner = ?", identifier, owner)


def turn_by_key(db: sqlite3.Connection, key: str) -> Turn | None:
    return _one(db, "key = ?", key)


def undone_of(db: sqlite3.Connection, identifier: str) -> Turn | None:
    """The turn that keeps a session busy."""
    return _one(db, "session = ? AND ended_at IS NULL", identifier)


def undone(db: sqlite3.Connection) -> list[Turn]:
    rows = db.execute("SELECT * FROM kiro_turns WHERE ended_at IS NULL ORDER BY created_at, id").fetchall()
    return [_turn(row) for row in rows]


def turns_of(db: sqlite3.Connection, owner: str, session: str | None, done: bool) -> list[Turn]:
    """A caller's, the oldest first."""
    clauses = ["owner = ?", *(["session = ?"] if session else []), *([] if done else ["ended_at IS NULL"])]
    values = (owner, session) if session else (owner,)
    rows = db.execute(
        f"SELECT * FROM kiro_turns WHERE {' AND '.join(clauses)} ORDER BY created_at, id", values
    ).fetchall()
    return [_turn(row) for row in rows]


def make_room(db: sqlite3.Connection, owner: str, most: int) -> bool:
    """Forget an owner's oldest done turns until there are fewer than this; False when too many are not done."""
    count = db.execute("SELECT count(*) FROM kiro_turns WHERE owner = ?", (owner,)).fetchone()[0]
    over = count - most + 1
    if over <= 0:
        return True
    gone = db.execute(
        "DELETE FROM kiro_turns WHERE id IN (SELECT id FROM kiro_turns WHERE owner = ? AND ended_at IS NOT NULL"
        " ORDER BY ended_at, id LIMIT ?)",
        (owner, over),
    ).rowcount
    return gone == over


def stop_turn(db: sqlite3.Connection, identifier: str, why: str) -> bool:
    """Write down that it is to stop; False when it is done. The first wish counts."""
    changed = db.execute(
        "UPDATE kiro_turns SET stopped = coalesce(stopped, ?) WHERE id = ? AND ended_at IS NULL", (why, identifier)
    )
    return changed.rowcount == 1


def finish_turn(db: sqlite3.Connection, done: Turn) -> bool:
    """What came of it, once; False when that was written before."""
    values = (
        done.state.value, done.ended_at, json.dumps(done.chunks), done.errors, done.failure, done.exit_code,
        json.dumps(done.times), done.id,
    )  # fmt: skip
    changed = db.execute(
        "UPDATE kiro_turns SET state = ?, ended_at = ?, chunks = ?, errors = ?, failure = ?, exit_code = ?,"
        " times = ?"
        " WHERE id = ? AND ended_at IS NULL",
        values,
    )
    return changed.rowcount == 1


# -- history


def remark(db: sqlite3.Connection, of: Turn, role: str, content: str, at: float) -> None:
    values = (of.session, of.id, role, content, at)
    db.execute("INSERT INTO kiro_history (session, turn, role, content, at) VALUES (?, ?, ?, ?, ?)", values)


def history(db: sqlite3.Connection, identifier: str, limit: int) -> list[Remark]:
    """The newest, oldest of them first."""
    rows = db.execute(
        "SELECT role, content, at FROM kiro_history WHERE session = ? ORDER BY n DESC LIMIT ?", (identifier, limit)
    ).fetchall()
    return [Remark(**dict(row)) for row in reversed(rows)]


def clear_history(db: sqlite3.Connection, identifier: str) -> None:
    db.execute("DELETE FROM kiro_history WHERE session = ?", (identifier,))


def _one(db: sqlite3.Connection, where: str, *values: Any) -> Turn | None:
    row = db.execute(f"SELECT * FROM kiro_turns WHERE {where}", values).fetchone()
    return _turn(row) if row else None


def _turn(row: sqlite3.Row) -> Turn:
    values: dict[str, Any] = dict(row)
    values["kind"], values["state"] = TurnKind(values["kind"]), TurnState(values["state"])
    values["resumes"] = bool(values["resumes"])
    values["chunks"], values["times"] = (tuple(json.loads(values[name])) for name in ("chunks", "times"))
    return Turn(**values)
