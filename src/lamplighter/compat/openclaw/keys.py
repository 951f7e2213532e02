"""What openclaw calls sessions: `agent:<id>:main`, `agent:<id>:subagent:<uuid>`, `cron:<job>:run:<uuid>`, `hook:<uuid>`.

A session that was spawned here has its key as an alias. Any other is known by a key made from what it is, always the same; by its
name, where that is such a key. A key belongs to the first session that had it and to no other after that one.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lamplighter.domain.session import Kind, Session
from lamplighter.errors import Code, MissingError
from lamplighter.store import aliases, sessions

if TYPE_CHECKING:
    from lamplighter.app import App

NAMESPACE = "openclaw"
WORDS = ("group", "hook", "node", "other")
"""Kinds of openclaw that are tasks here, with the word as a label."""
_KEY = re.compile(
    r"agent:[^:]+:main|agent:[^:]+:subagent:.+|cron:.+:run:[^:]+|hook:[^:]+|agent:[^:]+:(?:group|task):.+"
)
_ID = re.compile(r"([0-9a-z]{8})(?::main)?$")


def kind_of(session: Session) -> str:
    """One of openclaw's kinds; what has no word of theirs is other, sub-agents too."""
    if session.kind in (Kind.MAIN, Kind.CRON):
        return session.kind.value
    return next((word for word in WORDS if word in session.labels), "other") if session.kind is Kind.TASK else "other"


def label_of(session: Session) -> str | None:
    """The first label that is no kind."""
    return next((label for label in session.labels if label not in WORDS), None)


def run_id(key: str) -> str:
    """What openclaw calls one run; the same for the same call, however often that is repeated."""
    return str(uuid.UUID(bytes=hashlib.sha256(key.encode()).digest()[:16], version=4))


def made_from(session: Session) -> str:
    """The key of a session that was given none."""
    agent, tail = session.agent.replace(":", "-"), session.id
    if session.kind is Kind.MAIN:
        return f"agent:{agent}-{tail}:main"
    if session.kind is Kind.CRON:
        return f"cron:{session.name.removeprefix('cron:')}:run:{tail}"
    kind = kind_of(session)
    if kind in ("hook", "node"):
        return f"{kind}:{tail}"
    return f"agent:{agent}:{'group' if kind == 'group' else session.kind.value}:{tail}"


async def keys_of(app: App, asked: Iterable[Session]) -> dict[str, tuple[str, bool]]:
    """By id the key of each, and whether it was taken out of the lists."""
    wanted = list(asked)

    def read(db: sqlite3.Connection) -> dict[str, tuple[str, bool]]:
        given = aliases.of_sessions(db, NAMESPACE, [session.id for session in wanted])
        found: dict[str, tuple[str, bool]] = {}
        for session in wanted:
            value, until = given.get(session.id, (None, None))
            key = value if value is not None and _owner(db, value) == session.id else _own(db, session)
            found[session.id] = (key, until is not None)
        return found

    return await app.store.read(read)


async def find(app: App, word: str) -> Session:
    """The session of this key; also by our id or name. NOT_FOUND with what to do when there is none."""
    identifier = await app.store.read(lambda db: _owner(db, word))
    if identifier is None:
        tail = _ID.search(word) if ":" in word else None
        found = await app.store.get(lambda db: sessions.get(db, tail[1])) if tail else None
        if found is not None and (await keys_of(app, [found]))[found.id][0] == word:
            identifier = found.id
    try:
        return await app.registry.find(identifier or word)
    except MissingError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        raise MissingError(
            Code.NOT_FOUND, f"there is no session {word[:80]!a}", "sessions_list gives the keys of those that there are"
        ) from None


def _own(db: sqlite3.Connection, session: Session) -> str:
    if _KEY.fullmatch(session.name) and _owner(db, session.name) == session.id:
        return session.name
    return made_from(session)


def _owner(db: sqlite3.Connection, key: str) -> str | None:
    """The id of the first session that had this key, as an alias or as its name: ids are in the order of time."""
    found = [aliases.find(db, NAMESPACE, key), sessions.first_named(db, key) if _KEY.fullmatch(key) else None]
    return min((one for one in found if one is not None), default=None)
