"""Queries about sessions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from lamplighter.domain.ending import Ending, Exit, Intent
from lamplighter.domain.facts import Facts
from lamplighter.domain.limits import Limits
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import BeingEnded, HasEnded, Running, Starting, State, intent_of

_COLUMNS = (
    "id", "name", "kind", "driver", "agent", "owner", "parent", "project", "command", "cwd", "state", "boot", "protected",
    "keep_children", "bound", "holder_lost", "key", "created_at", "started_at", "ended_at", "main", "shim", "exit",
    "intent", "ending", "limits", "facts", "project_id", "predecessor",
)  # fmt: skip
_OF_STATE = ("state", "ended_at", "exit", "intent", "ending")
_OTHERS = tuple(name for name in _COLUMNS if name not in _OF_STATE)
_INSERT = f"INSERT INTO sessions ({', '.join((*_OTHERS, *_OF_STATE))}) VALUES ({', '.join('?' * len(_COLUMNS))})"


def insert(db: sqlite3.Connection, session: Session) -> bool:
    """A new session; False when its name is taken by a living one."""
    try:
        db.execute(_INSERT, [*(_value(session, name) for name in _OTHERS), *_of_state(session)])
    except sqlite3.IntegrityError:
        return False
    return True


def update(db: sqlite3.Connection, before: Session, session: Session) -> None:
    """What has changed of it, and nothing of indexes that have not."""
    changed = {name: _value(session, name) for name in _OTHERS if getattr(before, name) is not getattr(session, name)}
    if before.state is not session.state:
        changed.update(zip(_OF_STATE, _of_state(session), strict=True))
    if changed:
        columns = ", ".join(f"{name} = ?" for name in changed)
        db.execute(f"UPDATE sessions SET {columns} WHERE id = ?", [*changed.values(), session.id])


def delete(db: sqlite3.Connection, session: str) -> None:
    """Only for one that never started."""
    db.execute("DELETE FROM sessions WHERE id = ? AND started_at IS NULL", (session,))


def get(db: sqlite3.Connection, session: str) -> Session | None:
    row = db.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    return _session(row) if row else None


def living(db: sqlite3.Connection) -> list[Session]:
    rows = db.execute("SELECT * FROM sessions WHERE state <> 'ended' ORDER BY id").fetchall()
    return [_session(row) for row in rows]


def newest_ended(db: sqlite3.Connection, limit: int) -> list[Session]:
    """The newest, oldest of them first."""
    rows = db.execute("SELECT * FROM sessions WHERE state = 'ended' ORDER BY id DESC LIMIT ?", (limit,)).fetchall()
    return [_session(row) for row in reversed(rows)]


def ended_since(db: sqlite3.Connection, at: float, limit: int) -> list[Session]:
    """Those that ended after this time, the newest first."""
    rows = db.execute(
        "SELECT * FROM sessions WHERE state = 'ended' AND ended_at > ? ORDER BY ended_at DESC LIMIT ?", (at, limit)
    ).fetchall()
    return [_session(row) for row in rows]


def first_named(db: sqlite3.Connection, name: str) -> str | None:
    """The id of the first session that ever bore this name."""
    row = db.execute("SELECT min(id) FROM sessions WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row and row[0] else None


def count_ended(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sessions WHERE state = 'ended'").fetchone()[0])


def by_prefix(db: sqlite3.Connection, prefix: str) -> list[Session]:
    """At most a few whose id begins so."""
    rows = db.execute(
        "SELECT * FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", (prefix, prefix + "\U0010ffff")
    ).fetchall()
    return [_session(row) for row in rows]


def ended_named(db: sqlite3.Connection, name: str) -> Session | None:
    """The newest ended session of this name."""
    row = db.execute("SELECT * FROM sessions WHERE name = ? AND state = 'ended' ORDER BY id DESC", (name,)).fetchone()
    return _session(row) if row else None


def ended_names(db: sqlite3.Connection, limit: int) -> list[tuple[str, str, str, str, str, str]]:
    """Id, name, state, kind, project and owner of the newest that have ended."""
    rows = db.execute(
        "SELECT id, name, state, kind, coalesce(project, ''), owner FROM sessions WHERE state = 'ended' ORDER BY id DESC LIMIT ?",
        (limit,),
    ).fetchall()
    return [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in rows]


def successor_of(db: sqlite3.Connection, session: str) -> Session | None:
    """The first that went on from it."""
    row = db.execute("SELECT * FROM sessions WHERE predecessor = ? ORDER BY id LIMIT 1", (session,)).fetchone()
    return _session(row) if row else None


def successors(db: sqlite3.Connection, session: str) -> list[Session]:
    """All that went on from it; more than one only where the operator forced it."""
    rows = db.execute("SELECT * FROM sessions WHERE predecessor = ? ORDER BY id", (session,)).fetchall()
    return [_session(row) for row in rows]


def by_key(db: sqlite3.Connection, key: str) -> Session | None:
    row = db.execute("SELECT * FROM sessions WHERE key = ?", (key,)).fetchone()
    return _session(row) if row else None


def ended_by_key(db: sqlite3.Connection, key: str) -> Session | None:
    """The one that the call with this key set out to end."""
    row = db.execute("SELECT * FROM sessions WHERE json_extract(intent, '$.key') = ?", (key,)).fetchone()
    return _session(row) if row else None


def known(db: sqlite3.Connection, ids: list[str]) -> set[str]:
    """Those of these that there are, or were."""
    return {one for one in ids if db.execute("SELECT 1 FROM sessions WHERE id = ?", (one,)).fetchone()}


def last_id(db: sqlite3.Connection) -> str:
    """The id that was given last, also when that session never came to be."""
    row = db.execute("SELECT value FROM meta WHERE name = 'last_id'").fetchone()
    return str(row[0]) if row else ""


def keep_last_id(db: sqlite3.Connection, session: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES ('last_id', ?)", (session,))


def tracks(db: sqlite3.Connection) -> str | None:
    """What the patrol had seen of the living when it last wrote that down."""
    row = db.execute("SELECT value FROM meta WHERE name = 'tracks'").fetchone()
    return str(row[0]) if row else None


def keep_tracks(db: sqlite3.Connection, text: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES ('tracks', ?)", (text,))


def holders_lost(db: sqlite3.Connection, boot: str) -> list[Session]:
    """Those of this boot, ended ones too, whose first shim was lost."""
    rows = db.execute("SELECT * FROM sessions WHERE holder_lost = 1 AND boot = ?", (boot,)).fetchall()
    return [_session(row) for row in rows]


def _value(session: Session, name: str) -> Any:
    """As its column has it."""
    value = getattr(session, name)
    return _KEPT_AS[name](value) if name in _KEPT_AS else value


def _of_state(session: Session) -> tuple[Any, ...]:
    """The columns of its state, in their order."""
    ending = session.state.ending if isinstance(session.state, HasEnded) else None
    exit_ = ending.exit if ending else None
    return session.state.word, session.ended_at, _text(exit_), _text(intent_of(session.state)), _text(ending)


def _session(row: sqlite3.Row) -> Session:
    values: dict[str, Any] = {name: value for name, value in dict(row).items() if name not in _OF_STATE}
    for name in ("protected", "keep_children", "bound", "holder_lost"):
        values[name] = bool(values[name])
    values.update(
        {
            "kind": Kind(values["kind"]),
            "driver": Driver(values["driver"]),
            "command": tuple(json.loads(values["command"])),
            "main": _process(values["main"]),
            "shim": _process(values["shim"]),
            "limits": Limits.from_document(json.loads(values["limits"])),
            "facts": Facts.from_document(json.loads(values["facts"])),
        }
    )
    return Session(**values, state=_state(row))


def _state(row: sqlite3.Row) -> State:
    word = row["state"]
    if word == Starting.word:
        return Starting()
    if word == Running.word:
        return Running()
    intent = Intent.from_document(json.loads(row["intent"])) if row["intent"] else None
    if word == HasEnded.word:
        return HasEnded(Ending.from_document(json.loads(row["ending"])), intent)
    assert intent is not None, f"{row['id']} is being ended and nobody wanted that"
    return BeingEnded(intent)


def _pair(process: Process | None) -> str | None:
    return json.dumps([process.pid, process.start]) if process else None


def _text(value: Exit | Intent | Ending | Limits | Facts | None) -> str | None:
    return json.dumps(value.document()) if value else None


_KEPT_AS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("kind", "driver"), str),
    **dict.fromkeys(("main", "shim"), _pair),
    **dict.fromkeys(("limits", "facts"), _text),
    "command": json.dumps,
}


def _process(text: str | None) -> Process | None:
    return Process(*json.loads(text)) if text else None
