"""Looks at repositories, shared: when fifty sessions end at once in one folder, git is not run fifty times.

Each look has a thread of its own, so that a file system that hangs costs a thread and nobody's time. Knows nothing of sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import field

from lamplighter.engine.core.deadline import answered
from lamplighter.engine.repo.repository import DEADLINE, Changes, Findings, look
from lamplighter.lazy_dataclass import dataclass

log = logging.getLogger(__name__)
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
        self._tasks: set[asyncio.Task[None]] = set()

    async def changes(
        self, folder: str, since: str | None, deadline: float = DEADLINE, started_at: float | None = None
    ) -> Changes | None:
        """What is other than it was at the commit `since` ("": before the first; None: not known, so against the last one); None
        when the folder is in no repository. Never later than the deadline: what is known by then is told, marked as cut."""
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
            try:
                if left > 0:
                    await asyncio.to_thread(
                        answered, folder, lambda: self._look(sought, folder, since), left + _LATE_SECONDS
                    )
            except TimeoutError:
                log.warning("the repository around %s does not answer", folder)
            finally:
                sought.done.set()

    def _look(self, sought: _Look, folder: str, since: str | None) -> None:
        look(sought.findings, folder, since, self._scratch, sought.until)
