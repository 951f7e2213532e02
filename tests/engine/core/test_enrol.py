"""A session comes to be whole or not at all, on a real store and without a process."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from lamplighter.clock import RealClock
from lamplighter.domain.permission import OPERATOR
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.engine.core.enrol import enrol, enrol_again, free_name, new_id
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.errors import Code, LampError
from lamplighter.settings import load_settings
from lamplighter.store import events, sessions
from lamplighter.store.database import Database


def made(registry: SessionRegistry, name: str) -> LiveSession:
    now = registry.clock.now()
    identifier = new_id(registry, now)
    return LiveSession(
        Session(identifier, name, Kind.TASK, Driver.TERMINAL, "operator", ("x",), "/", now, registry.boot)
    )


def nothing(_: sqlite3.Connection) -> None:
    pass


def at(folder: Path, test: Callable[[SessionRegistry], Awaitable[None]]) -> None:
    async def run() -> None:
        settings = load_settings({"LAMPLIGHTER_HOME": str(folder)})
        registry = SessionRegistry(settings, Database(str(folder / "store.db")), RealClock())
        await registry.store.open()
        try:
            await test(registry)
        finally:
            await registry.store.close()

    asyncio.run(run())


async def told(registry: SessionRegistry) -> list[tuple[str | None, str]]:
    found = await registry.store.read(lambda db: events.newest(db, None, 0, 100))
    return [(event.session, event.action) for event in found]


def test_a_row_an_event_a_folder_and_its_files_come_together(tmp_path: Path) -> None:
    async def test(registry: SessionRegistry) -> None:
        live = await enrol(registry, made(registry, "work"), OPERATOR, "start", nothing, files={"a.json": "{}"})
        session = live.session
        assert await registry.store.get(lambda db: sessions.get(db, session.id)) == session
        assert await told(registry) == [(session.id, "start")]
        assert (registry.live_sessions[session.id], registry.names["work"]) == (live, session.id)
        assert Path(registry.folder(session.id), "a.json").read_text() == "{}"
        bare = await enrol(registry, made(registry, "told"), OPERATOR, "start", nothing)
        assert not os.path.exists(registry.folder(bare.session.id))

    at(tmp_path, test)


def test_nothing_is_left_of_one_that_may_not_be(tmp_path: Path) -> None:
    def refuse(_db: sqlite3.Connection, _session: str) -> None:
        raise LampError(Code.FORBIDDEN, "no", "ask")

    async def test(registry: SessionRegistry) -> None:
        live = made(registry, "work")
        with pytest.raises(LampError, match="no"):
            await enrol(registry, live, OPERATOR, "start", nothing, files={"a.json": "{}"}, claim=refuse)
        assert await registry.store.get(lambda db: sessions.get(db, live.session.id)) is None
        assert await told(registry) == []
        assert not registry.live_sessions
        assert not registry.names
        assert not os.path.exists(registry.folder(live.session.id))

    at(tmp_path, test)


def test_of_two_at_once_one_has_the_name(tmp_path: Path) -> None:
    async def test(registry: SessionRegistry) -> None:
        asked = [enrol(registry, made(registry, "work"), OPERATOR, "start", nothing, files={}) for _ in range(2)]
        first, second = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(first, LiveSession)
        assert isinstance(second, LampError)
        assert second.code is Code.NAME_TAKEN
        assert list(registry.live_sessions) == [first.session.id]
        assert free_name(registry, "work") == "work-2"

    at(tmp_path, test)


def test_what_a_lost_store_had_comes_back_by_its_ids_with_names_of_its_own(tmp_path: Path) -> None:
    async def test(registry: SessionRegistry) -> None:
        await enrol(registry, made(registry, "work"), OPERATOR, "start", nothing)
        lost = [made(registry, "work").session, made(registry, "work").session]
        last = new_id(registry, registry.clock.now())
        found = await enrol_again(registry, reversed(lost), last)
        assert [(one.id, one.name) for one in found] == [(lost[0].id, "work-2"), (lost[1].id, "work-3")]
        assert await registry.store.get(sessions.last_id) == last
        assert new_id(registry, registry.clock.now()) > last
        assert {one.id for one in found} < registry.live_sessions.keys()

    at(tmp_path, test)
