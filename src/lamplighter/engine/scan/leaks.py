"""What others left behind, looked for and ended: each leak looked at once more, its processes down the ladder, its files last.

Knows the scan and the ladder; plans and who may are not its business. What it is about to end is written down before the first
signal, and after a crash it goes on with just those processes, each by pid and start time.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lamplighter.agents import GENERIC
from lamplighter.domain.leak import Leak, LeakedFile
from lamplighter.domain.plan import Outcome
from lamplighter.domain.text.plural import counted
from lamplighter.engine.adopt.process_group import AdoptedGroup, group_of
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.scan.census import Key
from lamplighter.engine.scan.scanner import Survey, survey
from lamplighter.engine.scan.stream_ends import Ends
from lamplighter.holder import proc
from lamplighter.holder.kill_ladder import KillLadder
from lamplighter.holder.tree import Tree


class Leaks:
    def __init__(self, registry: SessionRegistry, keeper: KeeperClient, backends: Backends) -> None:
        self.registry = registry
        self.keeper = keeper
        self.backends = backends

    async def look(self, pid: int | None = None) -> Survey:
        """With a pid also why that process is listed, or is not."""
        return await asyncio.to_thread(survey, self.ours(), os.path.expanduser("~"), pid)

    async def stranger(self, identifier: str) -> AdoptedGroup | None:
        """The living processes of a leak as one, for whoever takes them under management; None when there is no such leak now."""
        found = [each for each in (await self.look()).leaks if each.id == identifier]
        return (
            group_of((each.key for leak in found for each in leak.processes), found[0].agent or GENERIC)
            if found
            else None
        )

    def ours(self) -> set[Key]:
        """What Lamplighter answers for: itself, and every process that a session of its is known by."""
        found = {key for key in (self.keeper.process, proc_key(os.getpid())) if key is not None}
        for live in list(self.registry.live_sessions.values()):
            known = (live.session.shim, live.session.main)
            found |= {(process.pid, process.start) for process in known if process is not None}
        return found | self.backends.known()

    async def end(self, leak: Leak, grace: float) -> dict[str, Any]:
        """What came of it."""
        certificate = await self._put_out(LeakTree(leak, self.ours), leak, grace)
        removed = await asyncio.to_thread(remove, leak.files) if not certificate["survivors"] else 0
        if certificate["survivors"]:
            return Outcome.SURVIVED.told("something of it is still alive: lamp scan", certificate=certificate)
        files = f"; {counted(removed, 'file')} of it removed" if leak.files else ""
        return Outcome.ENDED.told(f"left behind: {leak.why[0]}{files}", certificate=certificate)

    async def _put_out(self, tree: LeakTree, leak: Leak, grace: float) -> dict[str, Any]:
        """TERM, the grace, KILL until nobody is found."""
        tree.begin()
        for each in leak.processes:
            if not proc.is_alive(*each.key):
                tree.went(each.key, each.command, {})
        dying = KillLadder(tree, adopted=True, keep_children=False)
        await asyncio.to_thread(dying.stop, grace)
        while dying.phase not in ("ended", "survivors"):
            await asyncio.sleep(max(0.0, (dying.next_look or 0.0) - time.monotonic()))
            await asyncio.to_thread(dying.proceed, True)
        return await asyncio.to_thread(tree.certificate, "best_effort")


class LeakTree(Tree):
    """The processes of a leak and what they start meanwhile. What is spared and what is ours is never in it."""

    def __init__(self, leak: Leak, ours: Callable[[], set[Key]]) -> None:
        super().__init__(leak.id, None)
        self.adopted = True
        self.roots = {each.key for each in leak.processes}
        self._apart = set(leak.spared)
        self._ours = ours

    def _followed(self, processes: dict[int, proc.Stat]) -> dict[int, proc.Stat]:
        apart = self._apart | self._ours()
        self.infrastructure = {pid for pid, start in apart if pid in processes and processes[pid].start == start}
        self.roots -= apart
        return super()._followed(processes)

    def _bears_a_sign(self, stat: proc.Stat) -> bool:  # noqa: ARG002
        """Only what was judged, and what descends from that: a mark alone is no proof."""
        return False


def still(leak: Leak, now: Survey) -> tuple[Leak | None, str]:
    """What of a leak is there yet, for the same reasons; or why there is nothing to end."""
    found = next((each for each in now.leaks if each.id == leak.id and each.certainty is leak.certainty), None)
    before = {each.key: each.why for each in leak.processes}
    if found is None:
        alive = [each for each in leak.processes if proc.is_alive(*each.key)]
        return None, "it has changed: it does not look like a leak any more" if alive else "it is gone already"
    same = tuple(each for each in found.processes if before.get(each.key) == each.why)
    files = tuple(each for each in found.files if each in leak.files)
    if leak.processes and not same:
        return None, "it has changed: none of its processes is as it was"
    return replace(found, processes=same, files=files), ""


def remove(files: tuple[LeakedFile, ...]) -> int:
    """Those that are as they were found, of processes that are still gone; how many went."""
    bound, count = Ends().bound, 0
    for each in files:
        gone = each.start is not None and not proc.is_alive(each.pid, each.start)
        with suppress(OSError):
            found = os.lstat(each.path)
            right = stat.S_ISSOCK if each.path.endswith(".sock") else stat.S_ISREG
            own = found.st_uid == os.getuid() and right(found.st_mode)
            if gone and own and found.st_mtime_ns == each.changed and os.fsencode(each.path) not in bound:
                os.unlink(each.path)
                count += 1
    return count


def proc_key(pid: int) -> Key | None:
    start = proc.start_of(pid)
    return None if start is None else (pid, start)
