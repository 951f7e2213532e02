"""Looks that are shared: who acts on one must not get one that began before."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

from lamplighter.clock import RealClock
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.base import BackendContext
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.observe.process_sampler import Interest, Measure, ProcessSampler
from lamplighter.holder import proc
from lamplighter.settings import load_settings
from lamplighter.store.database import Database


class GatedSampler(ProcessSampler):
    """A look that takes as long as the test wants: it has listed the sessions, and not yet read /proc."""

    def __init__(self, registry: SessionRegistry) -> None:
        context = BackendContext(registry, None, Tasks(), None, None)  # type: ignore[arg-type]  # no session is acted on
        super().__init__(registry, Backends(context), lambda _live, _last: Interest.NONE)
        self.begun = threading.Event()
        self.gate = threading.Event()

    def _measure(self, *given: object) -> tuple[object, dict[str, Measure]]:  # type: ignore[override]
        self.begun.set()
        assert self.gate.wait(120)
        return super()._measure(*given)  # type: ignore[arg-type]


def enter(registry: SessionRegistry, name: str) -> None:
    """A living session, whose command is this process."""
    me = Process(os.getpid(), proc.start_of(os.getpid()) or 0)
    session = Session(name, name, Kind.TASK, Driver.HEADLESS, "operator", ("x",), "/", 1.0, registry.boot)
    registry.add(LiveSession(session.started(1.0, Process(os.getppid(), 1), me)))


def test_who_asks_during_a_look_gets_one_with_all_who_live_by_then(tmp_path: Path) -> None:
    async def test() -> None:
        settings = load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
        registry = SessionRegistry(settings, Database(str(tmp_path / "store.db")), RealClock())
        sampler = GatedSampler(registry)
        enter(registry, "before")
        first = asyncio.ensure_future(sampler.measures(0.0))
        await asyncio.to_thread(sampler.begun.wait, 120)
        enter(registry, "since")
        second = asyncio.ensure_future(sampler.compared({"since"}))
        await asyncio.sleep(0)
        sampler.gate.set()
        assert (await first).keys() >= {"before"}
        assert (await second)["since"].rate is not None

    asyncio.run(test())
