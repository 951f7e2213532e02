"""A session that was there before us becomes one of ours: a row, an event and a folder, in one transaction, and it is watched.

Knows the store and the fleet; knows nothing of how such a session was found, nor of who may.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from typing import Any

from lamplighter.domain.name import name_from
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.errors import Code, ConflictError, UnavailableError
from lamplighter.lifecycle.continuity.projects import Project
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.foreign.traced import Traced
from lamplighter.lifecycle.recovery.cards import keep_card
from lamplighter.store import aliases, events, sessions


class Recording:
    def __init__(self, fleet: Fleet, traced: Traced) -> None:
        self.fleet = fleet
        self.traced = traced

    async def record(self, session: Session, by: Caller, action: str, **detail: Any) -> Session:
        """From its first line on nothing is waited for but the store: two who find it at once cannot both find it free."""

        def write(db: sqlite3.Connection) -> Any:
            if not sessions.insert(db, session):
                return None
            sessions.keep_last_id(db, session.id)
            Project(session.project_id or "/", session.project).see(db, session.created_at)
            if conversation := session.conversation.get("id"):
                aliases.turn_to(db, session.agent, conversation, session.id, session.created_at)
            pid = session.main.pid if session.main else None
            return events.append(
                db, session.created_at, session.id, by.name, action, name=session.name, pid=pid, **detail
            )

        if session.name in self.fleet.names:
            raise _name_taken(session.name, self.fleet.names[session.name])
        lamp = self.fleet.put(session)  # before the store answers, so that it is recorded and named once
        lamp.panes = set(session.place.get("panes", ()))
        folder = self.fleet.folder(session.id)
        try:
            _make(folder)
            if await self.fleet.store.write(write) is None:
                raise _name_taken(session.name, "another session")
        except BaseException:
            self.fleet.remove(session.id)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        keep_card(folder, session)
        self.fleet.announce()
        self.traced.find(lamp)
        return session

    def free_name(self, text: str) -> str:
        base, number = name_from(text), 2
        name = base
        while name in self.fleet.names:
            name, number = f"{base}-{number}", number + 1
        return name


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700)
    except OSError as error:
        raise UnavailableError(
            Code.DISK_FULL, f"nothing can be written to {folder}", "make room on the disk and try again"
        ) from error


def _name_taken(name: str, by: str) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN, f"a living session is called {name} already: {by}", "choose another with --name"
    )
