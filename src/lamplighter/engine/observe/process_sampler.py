"""Measuring: processes, memory and CPU of every session's tree, in one pass over /proc, when somebody asks.

Knows trees by their shims; knows nothing of verdicts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property, lru_cache

from lamplighter.agents import agent_named
from lamplighter.agents.formats.fingerprints import fingerprints_of
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.observe.foreground import ForegroundPrograms, Known, find_editor, find_front, find_guest, halted
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass

_FRESH_SECONDS = 1.0
_SHORTEST_SECONDS = 0.2
_WINDOW_SECONDS = 2.0


@dataclass(frozen=True)
class Measure:
    """One tree at one look, which began at `when` by the daemon's clock. `rate` is cores used over the last seconds, None at the
    first look. `front` is looked for only where somebody wants to know; `editor` only in an agent's."""

    processes: list[proc.Stat] = field(default_factory=list[proc.Stat])
    memory: int = 0
    cpu: float = 0.0
    rate: float | None = None
    stopped: int = 0
    halted: str | None = None
    deep: bool = False
    front: ForegroundPrograms | None = None
    editor: str | None = None
    at: float = 0.0
    when: float = 0.0


def weigh(processes: Iterable[proc.Stat]) -> int:
    """Bytes that they take together, what they share counted once: a sum of resident bytes counts a forked tree's memory as
    often as it has processes. Slower than that sum; blocks. Where we may not see it, resident bytes."""
    return sum(_share(stat) or stat.memory for stat in processes)


def _share(stat: proc.Stat) -> int | None:
    try:
        with open(f"/proc/{stat.pid}/smaps_rollup", "rb") as file:
            shares = [int(line.split()[1]) for line in file if line.startswith(b"Pss:")]
    except (OSError, ValueError, IndexError):
        return None
    return shares[0] * 1024 if shares and proc.start_of(stat.pid) == stat.start else None


class Interest(Enum):
    """Whether it must be known what a session waits for: no; if it has moved since the last look; or in any case."""

    NONE = 0
    MOVED = 1
    NOW = 2


@dataclass(frozen=True)
class _Subject:
    """What a look must know of a session. Those of one without a holder are below its roots."""

    session: str
    shim: int
    main: int
    lost: bool
    interest: Interest
    is_daemon: Known | None
    is_own: Known | None
    roots: tuple[tuple[int, int], ...] = ()


class _Scan:
    """Every process at one look, by parent and, when somebody wants to know, by the session that it is in."""

    def __init__(self, processes: dict[int, proc.Stat]) -> None:
        self.processes = processes
        self.children: dict[int, list[proc.Stat]] = {}
        for stat in processes.values():
            if stat.state not in "ZX":
                self.children.setdefault(stat.parent, []).append(stat)

    @cached_property
    def led(self) -> dict[int, list[proc.Stat]]:
        led: dict[int, list[proc.Stat]] = {}
        for stat in self.processes.values():
            led.setdefault(stat.session, []).append(stat)
        return led

    def members(self, subject: _Subject, shims: set[int]) -> list[proc.Stat]:
        """What descends from the shim; from the command itself where the shim is not its ancestor. Never another session's."""
        if subject.roots:
            return self.below(subject.roots, shims)
        found: list[proc.Stat] = []
        todo = [subject.main] if subject.lost else [subject.shim]
        if subject.lost and subject.main in self.processes:
            found.append(self.processes[subject.main])
        while todo:
            for stat in self.children.get(todo.pop(), ()):
                if stat.pid not in shims:
                    found.append(stat)
                    todo.append(stat.pid)
        return found

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


@lru_cache
def _programs_own(agent: str) -> Known | None:
    """Whether the words of a command line are those of this agent's program; None where the agent is not known."""
    program = agent_named(agent).program
    if program is None:
        return None

    def is_own(words: Sequence[str]) -> bool:
        return program.runs(list(words))

    return is_own


def _front(subject: _Subject, members: list[proc.Stat]) -> ForegroundPrograms | None:
    found = find_front(members, subject.main, subject.is_daemon)
    if found is None or subject.is_own is None:
        return found
    return replace(found, guest=find_guest(members, subject.main, subject.is_own))


class ProcessSampler:
    """`interest` says, by what the last look measured, whether it must be known what a session waits for."""

    def __init__(
        self,
        registry: SessionRegistry,
        backends: Backends,
        interest: Callable[[LiveSession, Measure | None], Interest],
    ) -> None:
        self.registry = registry
        self.backends = backends
        self.interest = interest
        self._scan = _Scan({})
        self._measures: dict[str, Measure] = {}
        self._samples: dict[str, list[tuple[float, float]]] = {}
        self._at = self._began = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def measures(self, fresh: float = _FRESH_SECONDS) -> dict[str, Measure]:
        """From a look that began `fresh` seconds ago at most, of all who live now. Those who ask at the same time share one look,
        but not one that began before: it may have passed what has started, or moved, since."""
        asked = time.monotonic()
        living = {name for name, live in self.registry.live_sessions.items() if live.session.main is not None}
        while self._began < asked - fresh or not (self._began >= asked or living <= self._measures.keys()):
            if self._looking is None or self._looking.done():
                self._looking = asyncio.get_running_loop().create_task(self._look())
            await asyncio.shield(self._looking)
        return self._measures

    async def compared(self, sessions: set[str]) -> dict[str, Measure]:
        """As of now, and these sessions looked at twice, so that their CPU is known."""
        found = await self.measures(0.0)
        while any(name in found and found[name].rate is None for name in sessions):
            await asyncio.sleep(_SHORTEST_SECONDS)
            found = await self.measures(_SHORTEST_SECONDS / 2)
        return found

    @property
    def processes(self) -> dict[int, proc.Stat]:
        """Every process but our shims, at the last look."""
        return self._scan.processes

    async def tally(self, roots: Iterable[int]) -> Measure:
        """The trees below these processes, they themselves among them, by the last look; one that is new to it is looked for."""
        roots = list(roots)
        if not all(pid in self.processes for pid in roots):
            await self.measures(0.0)
        known = [stat.key for pid in roots if (stat := self.processes.get(pid))]
        members = self._scan.below(known, set())
        return Measure(members, sum(stat.memory for stat in members), sum(stat.cpu for stat in members), at=self._at)

    def last(self, session: str) -> Measure | None:
        """The last look at it."""
        return self._measures.get(session)

    async def _look(self) -> None:
        await self.backends.before_look()
        began, when = time.monotonic(), self.registry.clock.monotonic()
        subjects = [
            subject for live in self.registry.live_sessions.values() if (subject := self._subject(live)) is not None
        ]
        self._scan, self._measures = await asyncio.to_thread(self._measure, subjects, when)
        self._at, self._began = time.monotonic(), began
        self._samples = {name: samples for name, samples in self._samples.items() if name in self._measures}
        self._remember()
        self.backends.after_look({name: measure.processes for name, measure in self._measures.items()})

    def _remember(self) -> None:
        """Whom a look has seen under a session's holder: what leaves the tree and lives is known when the session ends."""
        for name, measure in self._measures.items():
            live = self.registry.live_sessions.get(name)
            if live is not None and live.session.shim is not None:
                kept = {key for key in live.below if (stat := self.processes.get(key[0])) and stat.start == key[1]}
                live.below = kept | {stat.key for stat in measure.processes}

    def _subject(self, live: LiveSession) -> _Subject | None:
        session = live.session
        if session.main is None:
            return None
        interest, traces, is_own = (
            self.interest(live, self.last(session.id)),
            fingerprints_of(session.agent),
            _programs_own(session.agent),
        )
        is_daemon = traces.is_daemon if traces.daemon else None
        shim, lost = session.shim.pid if session.shim else 0, session.holder_lost
        return _Subject(session.id, shim, session.main.pid, lost, interest, is_daemon, is_own, tuple(live.roots))

    def _measure(self, subjects: list[_Subject], when: float) -> tuple[_Scan, dict[str, Measure]]:
        """In a thread. Shims are not read: what they use is not the session's."""
        shims = {subject.shim for subject in subjects if subject.shim}
        scan = _Scan(proc.scan(shims))
        found = {subject.session: self._sum(subject, scan.members(subject, shims), when) for subject in subjects}
        return scan, found

    def _sum(self, subject: _Subject, members: list[proc.Stat], when: float) -> Measure:
        now = time.monotonic()
        cpu = sum(stat.cpu + stat.waited for stat in members)
        stopped = sum(1 for stat in members if stat.state in "Tt")
        wants_front = self._wants_front(subject, cpu, len(members))
        return Measure(
            processes=members,
            memory=sum(stat.memory for stat in members),
            cpu=cpu,
            rate=self._rate(subject.session, now, cpu),
            stopped=stopped,
            halted=halted(members, subject.main) if stopped else None,
            deep=any(stat.state == "D" for stat in members),
            front=_front(subject, members) if wants_front else None,
            editor=find_editor(members, subject.main) if subject.is_own else None,
            at=now,
            when=when,
        )

    def _wants_front(self, subject: _Subject, cpu: float, count: int) -> bool:
        """In the same look: what was known of something that has moved since is not known any more."""
        if subject.interest is not Interest.MOVED:
            return subject.interest is Interest.NOW
        before = self._measures.get(subject.session)
        return before is None or (before.cpu, len(before.processes)) != (cpu, count)

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
