"""Measuring: processes, memory and CPU of every session's tree, in one pass over /proc, when somebody asks.

Knows trees by their shims, or by their roots where there is none; knows nothing of verdicts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from lamplighter.holder import proc
from lamplighter.lifecycle.fleet import Fleet

_FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One tree at one look. `rate` is cores used since the look before, None at the first."""

    processes: list[proc.Stat] = field(default_factory=list[proc.Stat])
    memory: int = 0
    cpu: float = 0.0
    rate: float | None = None
    stopped: int = 0
    at: float = 0.0


class _Scan:
    """Every process at one look, by parent and, when somebody wants to know, by the session that it is in."""

    def __init__(self, processes: dict[int, proc.Stat]) -> None:
        self.processes = processes
        self.children: dict[int, list[proc.Stat]] = {}
        for stat in processes.values():
            self.children.setdefault(stat.parent, []).append(stat)

    @cached_property
    def led(self) -> dict[int, list[proc.Stat]]:
        led: dict[int, list[proc.Stat]] = {}
        for stat in self.processes.values():
            led.setdefault(stat.session, []).append(stat)
        return led

    def below(self, roots: Iterable[tuple[int, int]], shims: set[int]) -> list[proc.Stat]:
        """The roots, what descends from them, and what is in the sessions that they lead. Never another session's."""
        todo: list[proc.Stat] = []
        for pid, start in roots:
            stat = self.processes.get(pid)
            if stat is not None and stat.start == start:  # else that number may be another's by now
                todo += [stat, *self.led.get(pid, ())]
        found: dict[int, proc.Stat] = {}
        while todo:
            stat = todo.pop()
            if stat.pid not in found and stat.pid not in shims and stat.state not in "ZX":
                found[stat.pid] = stat
                todo += self.children.get(stat.pid, ())
        return list(found.values())


class Gauge:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._measures: dict[str, Measure] = {}
        self._at = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._scan = _Scan({})
        self.before_look: Callable[[], Awaitable[None]] | None = None

    async def measures(self, fresh: float = _FRESH_SECONDS) -> dict[str, Measure]:
        """Not older than `fresh` seconds. Those who ask at the same time share one look."""
        if time.monotonic() - self._at > fresh or not self._all_measured():
            if self._looking is None or self._looking.done():
                self._looking = asyncio.get_running_loop().create_task(self._look())
            await asyncio.shield(self._looking)
        return self._measures

    def _all_measured(self) -> bool:
        """A session that started after the last look is looked at as soon as somebody asks."""
        return all(name in self._measures or lamp.session.main is None for name, lamp in self.fleet.lamps.items())

    async def tally(self, roots: Iterable[int]) -> Measure:
        """The trees below these processes, they themselves among them, by the last look; one that is new to it is looked for."""
        roots = list(roots)
        if not all(pid in self._scan.processes for pid in roots):
            await self.measures(0.0)
        known = [stat.key for pid in roots if (stat := self._scan.processes.get(pid))]
        members = self._scan.below(known, set())
        return Measure(members, sum(stat.memory for stat in members), sum(stat.cpu for stat in members), at=self._at)

    async def _look(self) -> None:
        if self.before_look is not None:
            await self.before_look()
        roots = {
            lamp.session.id: (lamp.session.shim.pid, lamp.session.main.pid, lamp.session.holder_lost)
            for lamp in self.fleet.lamps.values()
            if lamp.session.shim is not None and lamp.session.main is not None
        }
        scan = self._scan = _Scan(await asyncio.to_thread(proc.scan))
        now = time.monotonic()
        keeper_like = {shim for shim, _, _ in roots.values()}
        measures = {
            session: self._sum(session, _members(scan.processes, scan.children, root, keeper_like), now)
            for session, root in roots.items()
        }
        for lamp in self.fleet.lamps.values():
            if lamp.session.traced:
                measures[lamp.session.id] = self._sum(lamp.session.id, scan.below(lamp.roots, keeper_like), now)
        self._measures = measures
        self._at = now

    def _sum(self, session: str, members: list[proc.Stat], now: float) -> Measure:
        before = self._measures.get(session)
        cpu = sum(stat.cpu for stat in members)
        lamp = self.fleet.lamps.get(session)
        rate = None
        if before is not None and now > before.at:
            rate = max(0.0, cpu - before.cpu) / (now - before.at)
        elif lamp is not None and lamp.session.started_at is not None:
            rate = cpu / max(0.1, self.fleet.clock.now() - lamp.session.started_at)
        return Measure(
            processes=members,
            memory=sum(stat.memory for stat in members),
            cpu=cpu,
            rate=rate,
            stopped=sum(1 for stat in members if stat.state in "Tt"),
            at=now,
        )


def _members(
    processes: dict[int, proc.Stat], children: dict[int, list[proc.Stat]], root: tuple[int, int, bool], shims: set[int]
) -> list[proc.Stat]:
    """What descends from the shim; from the command itself where the shim is not its ancestor. Never another session's."""
    shim, main, lost = root
    found: list[proc.Stat] = []
    todo = [main] if lost else [shim]
    if lost and main in processes:
        found.append(processes[main])
    while todo:
        for stat in children.get(todo.pop(), ()):
            if stat.pid not in shims and stat.state not in "ZX":
                found.append(stat)
                todo.append(stat.pid)
    return found
