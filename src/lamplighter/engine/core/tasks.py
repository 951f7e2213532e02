"""Work that runs on without whoever began it: kept, so that it is not collected, and its faults are logged; and what is tried
again until the store takes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from lamplighter.errors import LampError, UnavailableError

T = TypeVar("T")
log = logging.getLogger(__name__)
_LONGEST_PAUSE = 10.0


class Tasks:
    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, Any], what: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=what)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    async def cancel(self) -> None:
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, LampError):  # what a caller is told is no fault
            log.error("%s failed", task.get_name(), exc_info=error)


async def until(event: asyncio.Event, seconds: float) -> bool:
    """Whether it came within this time."""
    try:
        await asyncio.wait_for(event.wait(), max(0.0, seconds))
    except TimeoutError:
        return False
    return True


async def first_of(*events: asyncio.Event) -> None:
    """Wait for whichever comes first."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def persist(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """Again and again until the store takes it; sessions go on meanwhile."""
    pause = 0.1
    while True:
        try:
            return await attempt()
        except UnavailableError as error:
            log.error("%s has to wait for the store: %s", what, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
