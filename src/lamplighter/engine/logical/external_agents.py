"""Agents that are in no session of ours and tell of themselves: the session that each of them means.

One that was never heard of gets a logical session at its first word, so that what it hands off has a beginning; it is known by
the caller, and by what the caller calls it, in the namespace of whoever asks for it. Two callers may call theirs the same. Knows
aliases and logical sessions; who may is not asked here.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable

from lamplighter.domain.permission import Caller, is_own
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.logical.logical_sessions import Announcement, LogicalSessions
from lamplighter.errors import Code, MissingError
from lamplighter.store import aliases, sessions

_MOST = 50  # of those that are called the same, the newest


class ExternalAgents:
    def __init__(self, registry: SessionRegistry, logical_sessions: LogicalSessions) -> None:
        self.registry = registry
        self.logical_sessions = logical_sessions
        self._lock = asyncio.Lock()  # one begins at a time: two calls at once of one caller mean one session

    async def find(self, caller: Caller, word: str | None, namespace: str) -> Session | None:
        """The one that the caller means: by what it calls it, by its id or name; without a word its own, the newest living."""
        if word is None:
            if caller.session is not None:
                return await self.registry.find(caller.session)
            return _living(await self._called(caller, caller.name, namespace))
        called = await self._called(caller, word, namespace)
        return _living(called) or await self._named(caller, word) or next(iter(called), None)

    async def known(self, caller: Caller, word: str, namespace: str) -> Session:
        """The same for whoever only looks; or NOT_FOUND."""
        found = await self.find(caller, word, namespace)
        if found is None:
            raise MissingError(
                Code.NOT_FOUND,
                f"no session is called {word[:60]!a}",
                "give a session_id that you used before, or leave it out",
            )
        return found

    async def welcome(
        self, caller: Caller, word: str | None, namespace: str, agent: str, cwd: str | None, key: str
    ) -> Session:
        """The living one that the caller means; when there is none, its own goes by this word from now on, or one begins."""
        async with self._lock:
            found = await self.find(caller, word, namespace)
            if found is not None and (found.alive or word == found.id):
                return found
            unnamed = await self._unnamed(caller, namespace) if word is not None else None
            if unnamed is not None and word is not None:
                await self._share(namespace, word, unnamed)
                return unnamed
            return await self._begin(caller, word, namespace, agent, cwd, key)

    async def _begin(
        self, caller: Caller, word: str | None, namespace: str, agent: str, cwd: str | None, key: str
    ) -> Session:
        announced = Announcement(name=word or f"{agent}:guest".removeprefix("generic:"), agent=agent, cwd=cwd)

        def name(db: sqlite3.Connection, session: str) -> None:
            for value in dict.fromkeys((caller.name, word or caller.name)):
                aliases.share(db, namespace, value, session, self.registry.clock.now())

        return await self.logical_sessions.start(announced, caller, f"{key}/guest", repeated=False, claim=name)

    async def _share(self, namespace: str, word: str, session: Session) -> None:
        now = self.registry.clock.now()
        await self.registry.store.write(lambda db: aliases.share(db, namespace, word, session.id, now))

    async def _unnamed(self, caller: Caller, namespace: str) -> Session | None:
        """The caller's own session when it is in one of ours, else the one it began without a word for it."""
        own = await self.find(caller, None, namespace)
        if own is None or caller.session is not None:
            return own
        names = await self.registry.store.get(lambda db: aliases.values_of(db, namespace, own.id))
        return own if names == [caller.name] else None

    async def _called(self, caller: Caller, word: str, namespace: str) -> list[Session]:
        """The caller's own that go by this, the newest first."""

        def read(db: sqlite3.Connection) -> list[Session]:
            found = (sessions.get(db, session) for session in aliases.sharing(db, namespace, word, _MOST))
            return [session for session in found if session is not None]

        now = [await self.registry.now(session) for session in await self.registry.store.get(read)]
        return [session for session in now if is_own(caller, session)]

    async def _named(self, caller: Caller, word: str) -> Session | None:
        """Any by its whole id, the caller's own by its name also: what others call theirs says nothing of whose this is."""
        try:
            found = await self.registry.find(word)
        except MissingError:
            return None
        return found if word == found.id or (word == found.name and is_own(caller, found)) else None


def _living(found: Iterable[Session]) -> Session | None:
    return next((session for session in found if session.alive), None)
