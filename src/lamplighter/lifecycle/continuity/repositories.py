"""Looks at repositories, shared: when fifty sessions end at once in one folder, git is not run fifty times.

Each look has a thread of its own, so that a file system that hangs costs a thread and nobody's time. Knows nothing of sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lamplighter.lifecycle.continuity.repository import DEADLINE, Changes, Findings, Head, head, look

_AT_ONCE = 2
_LATE_SECONDS = 1.0  # what is killed needs a moment to be gone
_Key = tuple[str, str | None]


@dataclass
class _Look:
    """One that several wait for, until the last of them would wait no longer."""

    until: float
    done: asyncio.Event
    findings: Findings = field(default_factory=Findings)


class Repositories:
    """`scratch` is a folder of ours, where git finds nothing."""

    def __init__(self, scratch: str) -> None:
        self._scratch = scratch
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._waiting: dict[_Key, _Look] = {}
        self._hanging: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def head(self, folder: str, deadline: float = DEADLINE) -> Head | None:
        """Where the repository around a folder is at; None when there is none, or no answer in time."""
        found: list[Head | None] = []
        await self._in_thread(lambda: found.append(head(folder)), folder, deadline)
        return found[0] if found else None

    async def changes(
        self, folder: str, since: str | None, deadline: float = DEADLINE, started_at: float | None = None
    ) -> Changes | None:
        """As `repository.changes`. Never later than the deadline: what is known by then is told, marked as cut."""
        key = (folder, since)
        until = time.monotonic() + deadline
        sought = self._waiting.get(key)
        if sought is None:
            # One that has begun may have looked before the last change that whoever asks now must see.
            sought = self._waiting[key] = _Look(until, asyncio.Event())
            task = asyncio.get_running_loop().create_task(self._carry_out(key, sought), name=f"look at {folder}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        sought.until = max(sought.until, until)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(sought.done.wait(), deadline)
        return sought.findings.told(started_at)

    async def _carry_out(self, key: _Key, sought: _Look) -> None:
        folder, since = key
        async with self._slots:
            del self._waiting[key]
            left = sought.until - time.monotonic()
            if left > 0:
                await self._in_thread(
                    lambda: look(sought.findings, folder, since, self._scratch, sought.until),
                    folder,
                    left + _LATE_SECONDS,
                )
        sought.done.set()

    async def _in_thread(self, work: Callable[[], None], folder: str, seconds: float) -> None:
        """Until it is done, or no longer than this; where something hangs already, nothing else is begun."""
        if folder in self._hanging:
            return
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def run() -> None:
            try:
                work()
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(finish)

        def finish() -> None:
            done.set()
            self._hanging.discard(folder)

        threading.Thread(target=run, name=f"look at {folder}", daemon=True).start()
        try:
            await asyncio.wait_for(done.wait(), seconds)
        except TimeoutError:
            self._hanging.add(folder)
