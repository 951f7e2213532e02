"""Enrolling: the only place where a session comes to be. Its id, name, folder, row and the event of it, all or nothing.

Knows the registry, the store and files; knows nothing of what a session is made of, nor of who may.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lamplighter.domain.name import make_id
from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.errors import Code, ConflictError, UnavailableError
from lamplighter.holder.files import create_file
from lamplighter.store import events, losses, sessions

Claim = Callable[[sqlite3.Connection, str], None]
"""What has to be so for the session to come to be: given the connection and the session's id, it raises when it is not."""


def new_id(registry: SessionRegistry, now: float) -> str:
    """An id that no session has or had."""
    registry.last_id = make_id(now, registry.last_id)
    return registry.last_id


def free_name(registry: SessionRegistry, base: str) -> str:
    """This name, or the first of `base-2`, `base-3` … that nobody living has."""
    if base not in registry.names:
        return base
    number = registry.last_numbers.get(base, 2)
    while f"{base}-{number}" in registry.names:
        number += 1
    registry.last_numbers[base] = number  # so that the thousandth of a name is found as fast as the second
    return f"{base}-{number}"


async def enrol(
    registry: SessionRegistry,
    live: LiveSession,
    by: Caller,
    action: str,
    also: Callable[[sqlite3.Connection], None],
    *,
    files: Mapping[str, str] | None = None,
    claim: Claim | None = None,
    **detail: Any,
) -> LiveSession:
    """The session lives and is written down; or an error, and nothing is left of it. `files` are written to its folder before its
    row, and without them it has no folder; `claim` and `also` run in the same transaction, before and after the row; `detail`
    goes into the event.

    Until the store is asked nothing is waited for: of two who ask at once, only one finds a name or a process free.
    """
    session = live.session

    def write(db: sqlite3.Connection) -> None:
        if claim is not None:
            claim(db, session.id)
        if not sessions.insert(db, session):
            raise name_taken(session.name, "another session")
        also(db)
        sessions.keep_last_id(db, session.id)
        events.append(db, session.created_at, session.id, by.name, action, name=session.name, **detail)

    if session.name in registry.names:
        raise name_taken(session.name, registry.names[session.name])
    registry.add(live)
    try:
        if files is not None:
            _make_folder(registry.folder(session.id), files)
        await registry.write(write)
    except BaseException:
        registry.remove(session.id)
        if files is not None:
            shutil.rmtree(registry.folder(session.id), ignore_errors=True)
        raise
    return live


async def enrol_again(registry: SessionRegistry, found: Iterable[Session], last_id: str) -> list[Session]:
    """What a lost store had comes back by the ids that it had, in one transaction, however full the disk is. Ids go on from the
    last one that was ever seen."""
    named: list[Session] = []
    for session in sorted(found, key=lambda each: each.id):
        named.append(replace(session, name=free_name(registry, session.name)))
        registry.names[named[-1].name] = session.id
    now = registry.clock.now()

    def write(db: sqlite3.Connection) -> None:
        for session in named:
            if sessions.insert(db, session):
                events.append(db, now, session.id, DAEMON.name, "enrolled", name=session.name)
        sessions.keep_last_id(db, last_id)
        losses.enrolled(db)

    await registry.store.write(write, must=True)
    registry.last_id = last_id
    for session in named:
        registry.add(LiveSession(session))
    return named


def name_taken(name: str, by: str) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN,
        f"a living session is called {name} already: {by}",
        "choose another name, or end that one first",
    )


def _make_folder(folder: str, files: Mapping[str, str]) -> None:
    """Nobody looks into it before there is a row."""
    try:
        try:
            os.mkdir(folder, 0o700)
        except FileNotFoundError:
            os.makedirs(folder, 0o700)
        for name, text in files.items():
            create_file(f"{folder}/{name}", text.encode())
    except OSError as error:
        raise _disk_full(folder) from error


def _disk_full(where: str) -> UnavailableError:
    return UnavailableError(Code.DISK_FULL, f"nothing can be written to {where}", "make room on the disk and try again")
