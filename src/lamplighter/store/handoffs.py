"""Queries about hand-offs and projects. What is later has the greater id, also when the clock was set back meanwhile."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from lamplighter.domain.memory.handoff import Handoff

_WITH_IDS = {"h": "handoffs", "r": "records", "p": "receipts", "c": "captures"}


def insert(db: sqlite3.Connection, handoff: Handoff) -> None:
    document = json.dumps(handoff.document())
    values = (handoff.id, handoff.session, handoff.project, handoff.at, handoff.source, handoff.policy, handoff.digest)
    db.execute(
        "INSERT INTO handoffs (id, session, project, at, source, policy, digest, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, document),
    )
    _settle(db, handoff.session)


def _settle(db: sqlite3.Connection, session: str | None) -> None:
    """One hand-off of an end: what somebody said at it or after it is on top, and what was inferred is its evidence, in whichever
    order they came. What was said before the end, in passing, does not say how it ended."""
    db.execute(
        "UPDATE handoffs SET evidence_of = (SELECT max(said.id) FROM handoffs AS said "
        "WHERE said.session = handoffs.session AND said.source <> 'inferred' "
        "AND (said.id > handoffs.id OR json_extract(said.document, '$.ending'))) "
        "WHERE session = ? AND source = 'inferred'",
        (session,),
    )


def find(db: sqlite3.Connection, session: str | None, digest: str) -> Handoff | None:
    """The one with this very content."""
    row = db.execute("SELECT document FROM handoffs WHERE session IS ? AND digest = ?", (session, digest)).fetchone()
    return _with_evidence(db, [row])[0] if row else None


def get(db: sqlite3.Connection, handoff: str) -> Handoff | None:
    """As it was stored, without its evidence; also one that is another's."""
    return _handoff(db.execute("SELECT document FROM handoffs WHERE id = ?", (handoff,)).fetchone())


def of_session(db: sqlite3.Connection, session: str) -> list[Handoff]:
    """All that it left, oldest first; what is another's evidence is with that one."""
    rows = db.execute(
        "SELECT document FROM handoffs WHERE session = ? AND evidence_of IS NULL ORDER BY id", (session,)
    ).fetchall()
    return _with_evidence(db, rows)


def newest_ids(db: sqlite3.Connection, before: str) -> list[str]:
    """The last id of each kind of thing that has such ids; none from `before` on, which no clock of ours gave."""
    found = [
        db.execute(f"SELECT max(id) FROM {table} WHERE id < ?", (letter + before,)).fetchone()[0]
        for letter, table in _WITH_IDS.items()
    ]
    return [newest for newest in found if newest]


def last_session(
    db: sqlite3.Connection, project: str | None, but: str | None = None, asks: str | None = None
) -> str | None:
    """The session to go on from when none is named: the last of the project that said something itself, or was an agent; a
    command that only ran and ended comes after them. One that worked for another stands for that one, where that has handed over
    in the project too: what a worker says later is a part of the work, not where the work stands. Never `but`, who asks for
    those before it; and who `asks` is told of its workers."""
    spoke = "AND (handoffs.source <> 'inferred' OR sessions.agent <> 'generic')"
    for condition in (spoke, ""):
        row = db.execute(
            "SELECT handoffs.session FROM handoffs JOIN sessions ON sessions.id = handoffs.session "
            f"WHERE handoffs.project IS ? AND handoffs.session IS NOT ? {condition} "
            "ORDER BY handoffs.id DESC LIMIT 1",
            (project, but),
        ).fetchone()
        if row is not None:
            return _foremost(db, project, str(row["session"]), {but, asks})
    return None


def _foremost(db: sqlite3.Connection, project: str | None, session: str, but: set[str | None]) -> str:
    """The topmost of those that it worked for which handed over in this project themselves; else itself."""
    found, at, seen = session, session, {session}
    while row := db.execute("SELECT parent FROM sessions WHERE id = ?", (at,)).fetchone():
        at = row["parent"]
        if at is None or at in seen:
            break
        seen.add(at)
        said = "SELECT 1 FROM handoffs WHERE session = ? AND project IS ? AND source <> 'inferred' LIMIT 1"
        if at not in but and db.execute(said, (at, project)).fetchone():
            found = at
    return found


def waiting(db: sqlite3.Connection) -> list[Handoff]:
    """Those that require a successor and have none, oldest first."""
    rows = db.execute(
        "SELECT document FROM handoffs AS one WHERE policy = 'successor_required' "
        "AND NOT EXISTS (SELECT 1 FROM sessions WHERE predecessor = one.session) "
        "AND NOT EXISTS (SELECT 1 FROM handoffs AS later WHERE later.session = one.session AND later.policy IS NOT NULL "
        "AND later.id > one.id) ORDER BY id"
    ).fetchall()
    return [Handoff.from_document(json.loads(row["document"])) for row in rows]


def newest(db: sqlite3.Connection, project: str | None, limit: int) -> list[Handoff]:
    """The last that were left, of one project or of all, the newest first."""
    where, values = ("AND project = ?", (project,)) if project else ("", ())
    rows = db.execute(
        f"SELECT document FROM handoffs WHERE evidence_of IS NULL {where} ORDER BY id DESC LIMIT ?", (*values, limit)
    ).fetchall()
    return _with_evidence(db, rows)


def see_project(db: sqlite3.Connection, project: str, name: str, at: float) -> None:
    """A project is known by the name that it had last."""
    db.execute("INSERT OR REPLACE INTO projects VALUES (?, ?, ?)", (project, name, at))


def projects_named(db: sqlite3.Connection, word: str) -> list[tuple[str, str]]:
    """Identity and name of those with this identity or name, the last seen first."""
    rows = db.execute(
        "SELECT id, name FROM projects WHERE id = ? OR name = ? ORDER BY seen_at DESC LIMIT 20", (word, word)
    ).fetchall()
    return [(row["id"], row["name"]) for row in rows]


def project_name(db: sqlite3.Connection, project: str) -> str:
    row = db.execute("SELECT name FROM projects WHERE id = ?", (project,)).fetchone()
    return str(row["name"]) if row else project


def _with_evidence(db: sqlite3.Connection, rows: list[sqlite3.Row]) -> list[Handoff]:
    found = [Handoff.from_document(json.loads(row["document"])) for row in rows]
    return [replace(one, evidence=_evidence(db, one)) if not one.inferred else one for one in found]


def _evidence(db: sqlite3.Connection, said: Handoff) -> tuple[Handoff, ...]:
    rows = db.execute(
        "SELECT document FROM handoffs WHERE session = ? AND evidence_of = ? ORDER BY id", (said.session, said.id)
    ).fetchall()
    return tuple(Handoff.from_document(json.loads(row["document"])) for row in rows)


def _handoff(row: sqlite3.Row | None) -> Handoff | None:
    return Handoff.from_document(json.loads(row["document"])) if row else None
