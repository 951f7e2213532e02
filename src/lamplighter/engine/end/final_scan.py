"""The last look over the whole machine before an ending says that nothing is left.

A process can leave a session's tree without leaving the machine: one that enters an older pid namespace is adopted by that
namespace's init, and as root it can move to another cgroup. What still bears the session's mark, is in its cgroup, or was once
seen below it, is found here. Endings that come together share one look. Knows /proc and the living sessions; knows nothing of
the store.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from lamplighter.agents.formats.shared_daemon import servers
from lamplighter.domain.ending import Certificate, Guarantee
from lamplighter.domain.session import Session
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.holder import proc
from lamplighter.holder.cgroup import Cgroup
from lamplighter.holder.marks import MARK, bears_mark
from lamplighter.holder.tree import Tree
from lamplighter.lazy_dataclass import dataclass

Key = tuple[int, int]
_KILL_SECONDS = 5.0
_KERNEL_THREADS = 2


@dataclass(frozen=True)
class LateProcess:
    """A process of a session that is over. `beyond` says why it is not killed; nothing when it is."""

    key: Key
    how: str
    beyond: str = ""


@dataclass(frozen=True)
class Subject:
    """What a look must know of a session. `spared` are others' processes that its end left alone, `kept` is set for one that
    leaves its children by its own wish, `cgroup` is its folder where it had one, `state` its home."""

    session: str
    since: int
    seen: frozenset[Key]
    spared: frozenset[Key]
    kept: bool
    cgroup: str = ""
    state: str = ""


class FinalScan:
    """`find` answers from a look that began after it was asked."""

    def __init__(self, registry: SessionRegistry, keeper: KeeperClient) -> None:
        self.registry = registry
        self.keeper = keeper
        self._waiting: list[tuple[Subject, asyncio.Future[list[LateProcess]]]] = []
        self._looking: asyncio.Task[None] | None = None

    def cgroup_of(self, session: str) -> str | None:
        """The folder of a session's cgroup, where sessions have one."""
        return f"{self.keeper.cgroup}/{session}" if self.keeper.cgroup else None

    async def find(self, session: Session, certificate: Certificate, *, asked: bool) -> list[LateProcess]:
        """What is left of a session whose holder says that nothing is."""
        if session.main is None:
            return []
        live = self.registry.live_sessions.get(session.id)
        subject = Subject(
            session.id,
            session.main.start,
            frozenset(live.below if live else ()),
            frozenset((entry["pid"], entry["start_ticks"]) for entry in certificate.spared),
            kept=session.keep_children and not asked,
            cgroup=self.cgroup_of(session.id) or "",
            state=self.registry.settings.home.state,
        )
        answer: asyncio.Future[list[LateProcess]] = asyncio.get_running_loop().create_future()
        self._waiting.append((subject, answer))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return await answer

    async def clear(self, session: Session, certificate: Certificate, *, asked: bool) -> Certificate:
        """End what the last look finds, and say so: what was killed, what survived that, and what was beyond us."""
        found = await self.find(session, certificate, asked=asked)
        if not found:
            return certificate
        how = {each.key: each.how for each in found if not each.beyond}
        killed = await asyncio.to_thread(self.kill, session.id, how.keys(), None, how)
        beyond = [await asyncio.to_thread(_document, each) for each in found if each.beyond]
        return certificate.with_found(replace(killed, spared=[*killed.spared, *beyond]))

    def below(self, shim: int) -> set[Key]:
        """What lives below a shim and is the session's: never a keeper that the shim had to start. For a thread."""
        found = proc.descendants(proc.scan(), {shim}, self._ours())
        return {stat.key for stat in found.values() if not stat.is_gone}

    def kill(
        self, session: str, roots: Iterable[Key], cgroup: str | None, how: Mapping[Key, str] = MappingProxyType({})
    ) -> Certificate:
        """End these processes and what descends from them, as far as that goes. Blocks; for a thread."""
        tree = Remains(session, roots, cgroup, self._ours())
        deadline = time.monotonic() + _KILL_SECONDS
        while tree.members() and time.monotonic() < deadline:
            tree.kill()
            time.sleep(0.01)  # the kernel's time to take them away; who reaps them is not us
        if tree.cgroup is not None:
            tree.cgroup.remove()
        for key in how.keys() & tree.deaths.keys():
            tree.deaths[key].found = how[key]
        return Certificate.from_document(tree.certificate(Guarantee.BEST_EFFORT.value))

    async def _look(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            try:
                found = await asyncio.to_thread(_look_around, [subject for subject, _ in waiting], self._ours())
            except BaseException as error:
                for _, answer in waiting:
                    if not answer.done():
                        answer.set_exception(RuntimeError(f"the last look failed: {error!r}"))
                raise
            for subject, answer in waiting:
                if not answer.done():
                    answer.set_result(found[subject.session])

    def _ours(self) -> set[int]:
        """Keeper, daemon and shims: they and what is below them are no session's remains."""
        return (
            {pid for pid, _ in self.registry.shims()}
            | {os.getpid()}
            | ({self.keeper.pid} if self.keeper.pid else set[int]())
        )


def _look_around(subjects: list[Subject], ours: set[int]) -> dict[str, list[LateProcess]]:
    """For a thread: one pass over the machine for all of them."""
    processes = {pid: stat for pid, stat in proc.scan().items() if stat.parent != _KERNEL_THREADS}
    apart = ours | proc.descendants(processes, ours).keys()
    by_key = {stat.key: stat for pid, stat in processes.items() if pid not in apart and stat.state not in "ZX"}
    marks = {key: proc.environment_of(key[0], MARK) for key in by_key}
    return {
        subject.session: [_judged(by_key[key], how, subject) for key, how in _remains(subject, by_key.keys(), marks)]
        for subject in subjects
    }


def _remains(subject: Subject, living: Iterable[Key], marks: dict[Key, str | None]) -> Iterable[tuple[Key, str]]:
    """Each process that may be left of it, and how that is known."""
    grouped = set(Cgroup(subject.cgroup).pids()) if subject.cgroup else set[int]()
    for key in living:
        if key in subject.spared:
            continue
        if key[0] in grouped:
            yield key, "cgroup"
        elif marks.get(key) == subject.session and bears_mark(key[0], subject.session, subject.state):
            yield key, "mark"
        elif key in subject.seen:
            yield key, "seen below it before"


def _judged(stat: proc.Stat, how: str, subject: Subject) -> LateProcess:
    above = {ancestor.key for ancestor in proc.ancestors(stat.pid)}
    if proc.user_of(stat.pid) != os.getuid():
        why = "not ended: it belongs to another user"
    elif stat.start < subject.since:
        why = "not ended: it is older than the session"
    elif above & subject.spared:
        why = "below a process that is spared"
    elif subject.kept:
        why = "kept, as the session was started to leave its children"
    else:
        why = ""
    return LateProcess(stat.key, how, why)


def _document(found: LateProcess) -> dict[str, object]:
    pid, start = found.key
    return {
        "pid": pid,
        "start_ticks": start,
        "command": proc.command_of(pid),
        "why": found.beyond,
        "found": found.how,
    }


class Remains(Tree):
    """Processes that are known one by one, and what descends from them: no sign is followed any further."""

    def __init__(self, session: str, roots: Iterable[Key], cgroup: str | None, ours: set[int]) -> None:
        super().__init__(session, Cgroup(cgroup) if cgroup and os.path.isdir(cgroup) else None)
        self.adopted = True
        self.roots = set(roots)
        self.infrastructure = ours
        self.shared = servers()

    def _bears_a_sign(self, stat: proc.Stat) -> bool:
        del stat
        return False
