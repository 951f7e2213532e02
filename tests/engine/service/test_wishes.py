"""What front ends use of approvals, on a real store: the word of the person at a client, and calls that cannot name an id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lamplighter.clock import RealClock
from lamplighter.domain.approval import Wish
from lamplighter.domain.permission import Caller, Rank
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.base import BackendContext
from lamplighter.engine.backends.tmux.multiplexers import Multiplexers
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.engine.service.approvals import Approvals
from lamplighter.errors import Code, ForbiddenError, LampError
from lamplighter.settings import load_settings
from lamplighter.store import events
from lamplighter.store.database import Database

CLIENT = Caller(Rank.CLIENT, "client:1")
REFUSAL = ForbiddenError(Code.FORBIDDEN, "client:1 may not end other (0a)", "ask", act="end")
WISH = Wish(CLIENT, "end_session", "0a", True, {"session": "other", "reason": ""}, "k1", REFUSAL.message)


class Clock(RealClock):
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time


class Desk:
    """Approvals on a store of their own."""

    def __init__(self, folder: Path) -> None:
        settings = load_settings({"LAMPLIGHTER_HOME": str(folder)})
        self.clock = Clock()
        self.registry = SessionRegistry(settings, Database(str(folder / "store.db")), self.clock)
        context = BackendContext(
            self.registry,
            KeeperClient(settings.home),
            Tasks(),
            OutputReader(self.registry),
            Multiplexers(self.registry),
        )
        self.approvals = Approvals(self.registry, Backends(context))

    async def request(self, wish: Wish) -> str:
        with pytest.raises(ForbiddenError) as asked:
            await self.approvals.settle(wish, REFUSAL)
        assert asked.value.code is Code.APPROVAL_NEEDED
        return asked.value.details["request"]

    async def code(self, answer: Awaitable[object]) -> Code:
        with pytest.raises(LampError) as refused:
            await answer
        return refused.value.code

    async def events(self) -> list[tuple[str, str]]:
        found = await self.registry.store.read(lambda db: events.newest(db, None, 0, 100))
        return [(event.by, event.action) for event in found]


def at(folder: Path, test: Callable[[Desk], Awaitable[None]]) -> None:
    async def run() -> None:
        desk = Desk(folder)
        await desk.registry.store.open()
        try:
            await test(desk)
        finally:
            await desk.registry.store.close()

    asyncio.run(run())


def test_the_person_at_a_client_grants_what_that_client_asks(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        request = await desk.request(WISH)
        granted = await desk.approvals.grant(request, "person at client:1", CLIENT)
        assert (granted.state, granted.decided_by) == ("granted", "person at client:1")
        assert await desk.approvals.settle(replace(WISH, approval=request), REFUSAL) is not None
        assert await desk.events() == [
            ("client:1", "approval asked"),
            ("person at client:1", "approval granted"),
            ("client:1", "approval used"),
        ]
        assert await desk.code(desk.approvals.grant(request, "person", CLIENT)) is Code.FORBIDDEN  # it is over

    at(tmp_path, test)


@pytest.mark.parametrize("rank", [rank for rank in Rank if rank is not Rank.CLIENT])
def test_nobody_else_grants_by_being_asked(tmp_path: Path, rank: Rank) -> None:
    """A session's own client that accepts its own elicitation, an agent, a token; and whoever calls itself like the asker."""

    async def test(desk: Desk) -> None:
        caller = Caller(rank, f"{rank}:1")
        own = await desk.request(replace(WISH, caller=caller))
        assert await desk.code(desk.approvals.grant(own, "person", caller)) is Code.FORBIDDEN
        assert await desk.code(desk.approvals.grant(own, "person", CLIENT)) is Code.FORBIDDEN
        assert await desk.code(desk.approvals.grant(own, "person", Caller(Rank.CLIENT, caller.name))) is Code.FORBIDDEN
        assert [one.state for one in await desk.approvals.open()] == ["asked"]
        assert [action for _, action in await desk.events()] == ["approval asked", *["refused"] * 3]

    at(tmp_path, test)


def test_a_client_grants_neither_what_another_asked_nor_what_is_over(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        request = await desk.request(WISH)
        assert (
            await desk.code(desk.approvals.grant(request, "person", Caller(Rank.CLIENT, "client:2"))) is Code.FORBIDDEN
        )
        assert await desk.code(desk.approvals.grant(request[:8], "person", CLIENT)) is Code.FORBIDDEN
        await desk.approvals.decide(request, grant=False, by=Caller(Rank.OPERATOR, "operator"))
        assert await desk.code(desk.approvals.grant(request, "person", CLIENT)) is Code.FORBIDDEN
        other = await desk.request(replace(WISH, arguments={"session": "other", "reason": "x"}))
        desk.clock.time += 600
        assert await desk.code(desk.approvals.grant(other, "person", CLIENT)) is Code.FORBIDDEN

    at(tmp_path, test)


def test_a_plain_call_finds_what_is_granted_for_it(tmp_path: Path) -> None:
    """Repeated as it was, without an id; once; and again under the same key, after a crash."""

    async def test(desk: Desk) -> None:
        plain = replace(WISH, implicit=True)
        request = await desk.request(plain)
        assert await desk.request(plain) == request  # not granted yet
        await desk.approvals.grant(request, "person", CLIENT)
        assert await desk.request(replace(plain, session="0b")) != request  # its name means another session now
        assert await desk.request(replace(plain, arguments={"session": "other", "reason": "x"})) != request
        assert await desk.request(replace(WISH, implicit=False)) == request  # who names none has none
        taken = await desk.approvals.settle(plain, REFUSAL)
        assert taken is not None
        assert await desk.approvals.settle(plain, REFUSAL) is None
        assert await desk.request(replace(plain, key="k2")) != request
        await desk.approvals.give_back(taken)
        assert await desk.approvals.settle(replace(plain, key="k3"), REFUSAL) is not None

    at(tmp_path, test)


def test_what_was_used_cannot_be_put_off_by_keeping_its_key(tmp_path: Path) -> None:
    """Under the same key it goes on, but not for longer than it held; only what ended meanwhile is still told of."""

    async def test(desk: Desk) -> None:
        request = await desk.request(WISH)
        await desk.approvals.grant(request, "person", CLIENT)
        approved = replace(WISH, approval=request)
        await desk.approvals.settle(approved, REFUSAL)
        desk.clock.time += 599
        assert await desk.approvals.settle(approved, REFUSAL) is None
        desk.clock.time += 1
        assert await desk.code(desk.approvals.settle(approved, REFUSAL)) is Code.APPROVAL_EXPIRED
        assert await desk.approvals.settle(replace(approved, alive=False), REFUSAL) is None

    at(tmp_path, test)


def test_without_room_for_a_request_what_is_refused_stays_refused(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        await desk.registry.store.read(lambda db: db.execute("PRAGMA query_only = on").fetchall())
        assert await desk.code(desk.approvals.settle(WISH, REFUSAL)) is Code.FORBIDDEN

    at(tmp_path, test)


def test_old_ones_are_forgotten(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        request = await desk.request(WISH)
        desk.clock.time += 600
        await desk.approvals.forget_old()
        assert (await desk.approvals.find(request)).arguments is None
        desk.clock.time += 8 * 86400
        await desk.approvals.forget_old()
        assert await desk.code(desk.approvals.find(request)) is Code.NOT_FOUND

    at(tmp_path, test)
