"""Measuring: processes, memory and CPU of every session's tree, in one pass over /proc, when somebody asks.

Knows trees by their shims; knows nothing of verdicts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lamplighter.holder import proc
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.front import Front, find_front, halted

_FRESH_SECONDS = 1.0
_SHORTEST_SECONDS = 0.2
_WINDOW_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One tree at one look, which began at `when` by the daemon's clock. `rate` is cores used over the last seconds, None at the
    first look. `front` is looked for only where somebody wants to know."""

    processes: list[proc.Stat] = field(default_factory=list[proc.Stat])
    memory: int = 0
    cpu: float = 0.0
    rate: float | None = None
    stopped: int = 0
    halted: str | None = None
    deep: bool = False
    front: Front | None = None
    at: float = 0.0
    when: float = 0.0


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a look must know of a session."""

    session: str
    shim: int
    main: int
    lost: bool
    curious: bool


class Gauge:
    """`curious` says of which sessions it must be known what they wait for."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.curious: Callable[[Lamp], bool] = lambda _lamp: False
        self.processes: dict[int, proc.Stat] = {}
        self.cost = 0.0
        self._measures: dict[str, Measure] = {}
        self._samples: dict[str, list[tuple[float, float]]] = {}
        self._at = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def measures(self, fresh: float = _FRESH_SECONDS) -> dict[str, Measure]:
        """Not older than `fresh` seconds. Those who ask at the same time share one look."""
        if time.monotonic() - self._at > fresh or not self._all_measured():
            if self._looking is None or self._looking.done():
                self._looking = asyncio.get_running_loop().create_task(self._look())
            await asyncio.shield(self._looking)
        return self._measures

    async def compared(self, fresh: float, sessions: set[str]) -> dict[str, Measure]:
        """As `measures`, and these sessions looked at twice, so that their CPU is known."""
        found = await self.measures(fresh)
        while any(name in found and found[name].rate is None for name in sessions):
            await asyncio.sleep(_SHORTEST_SECONDS)
            found = await self.measures(_SHORTEST_SECONDS / 2)
        return found

    def last(self, session: str) -> Measure | None:
        """The last look at it."""
        return self._measures.get(session)

    def _all_measured(self) -> bool:
        """A session that started after the last look is looked at as soon as somebody asks."""
        return all(name in self._measures or lamp.session.main is None for name, lamp in self.fleet.lamps.items())

    async def _look(self) -> None:
        when = self.fleet.clock.monotonic()
        subjects = [
            _Subject(lamp.session.id, shim.pid, main.pid, lamp.session.holder_lost, self.curious(lamp))
            for lamp in self.fleet.lamps.values()
            if (shim := lamp.session.shim) is not None and (main := lamp.session.main) is not None
        ]
        self.processes, self._measures = await asyncio.to_thread(self._measure, subjects, when)
        self._at = time.monotonic()
        self._samples = {name: samples for name, samples in self._samples.items() if name in self._measures}

    def _measure(self, subjects: list[_Subject], when: float) -> tuple[dict[int, proc.Stat], dict[str, Measure]]:
        """In a thread. Shims are not read: what they use is not the session's."""
        began = time.thread_time()
        shims = {subject.shim for subject in subjects}
        processes = proc.scan(shims)
        children: dict[int, list[proc.Stat]] = {}
        for stat in processes.values():
            if stat.state not in "ZX":
                children.setdefault(stat.parent, []).append(stat)
        found = {
            subject.session: self._sum(subject, _members(processes, children, subject, shims), when)
            for subject in subjects
        }
        self.cost = time.thread_time() - began
        return processes, found

    def _sum(self, subject: _Subject, members: list[proc.Stat], when: float) -> Measure:
        now = time.monotonic()
        cpu = sum(stat.cpu + stat.waited for stat in members)
        stopped = sum(1 for stat in members if stat.state in "Tt")
        return Measure(
            processes=members,
            memory=sum(stat.memory for stat in members),
            cpu=cpu,
            rate=self._rate(subject.session, now, cpu),
            stopped=stopped,
            halted=halted(members, subject.main) if stopped else None,
            deep=any(stat.state == "D" for stat in members),
            front=find_front(members, subject.main) if subject.curious else None,
            at=now,
            when=when,
        )

    def _rate(self, session: str, now: float, cpu: float) -> float | None:
        """Over the newest sample that is old enough; ticks are coarse, so a short while would make a tenth of a second of work
        look like a busy processor."""
        samples = self._samples.setdefault(session, [])
        while len(samples) > 1 and now - samples[1][0] >= _WINDOW_SECONDS:
            samples.pop(0)
        rate = None
        if samples and now - samples[0][0] >= _SHORTEST_SECONDS:
            rate = max(0.0, cpu - samples[0][1]) / (now - samples[0][0])
        if not samples or now - samples[-1][0] >= _SHORTEST_SECONDS:
            samples.append((now, cpu))
        return rate


def _members(
    processes: dict[int, proc.Stat], children: dict[int, list[proc.Stat]], subject: _Subject, shims: set[int]
) -> list[proc.Stat]:
    """What descends from the shim; from the command itself where the shim is not its ancestor. Never another session's."""
    found: list[proc.Stat] = []
    todo = [subject.main] if subject.lost else [subject.shim]
    if subject.lost and subject.main in processes:
        found.append(processes[subject.main])
    while todo:
        for stat in children.get(todo.pop(), ()):
            if stat.pid not in shims:
                found.append(stat)
                todo.append(stat.pid)
    return found
