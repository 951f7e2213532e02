"""What was refused at a door leaves an event: at most one a minute for the same refusal, with a count of those held back.

Knows callers and events; knows no rule. Nothing that a stranger sent is ever in an event.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.lazy_dataclass import dataclass

_EVERY = 60.0
Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass
class _Count:
    caller: Caller
    detail: dict[str, Any]
    held_back: int = 0
    timer: asyncio.TimerHandle | None = field(default=None)


class Refusals:
    def __init__(self, registry: SessionRegistry, tasks: Tasks) -> None:
        self.registry = registry
        self.tasks = tasks
        self._counts: dict[Key, _Count] = {}

    def count(self, caller: Caller, why: str = "", **detail: str) -> None:
        """`detail` says which refusal it is; `why` is told of the first one alone."""
        key = (caller.name, tuple(sorted(detail.items())))
        known = self._counts.get(key)
        if known is not None:
            known.held_back += 1
            return
        count = self._counts[key] = _Count(caller, detail)
        self._note(count, 1, {"why": why} if why else {})
        self._wait(key, count)

    def close(self) -> None:
        """What was held back is told now."""
        for count in self._counts.values():
            if count.timer is not None:
                count.timer.cancel()
            if count.held_back:
                self._note(count, count.held_back, {})
        self._counts.clear()

    def _wait(self, key: Key, count: _Count) -> None:
        count.timer = asyncio.get_running_loop().call_later(_EVERY, self._tell, key)

    def _tell(self, key: Key) -> None:
        count = self._counts[key]
        if not count.held_back:
            del self._counts[key]
            return
        self._note(count, count.held_back, {})
        count.held_back = 0
        self._wait(key, count)

    def _note(self, count: _Count, times: int, more: dict[str, Any]) -> None:
        noting = self.registry.note_if_possible(None, count.caller, "refused", **count.detail, **more, times=times)
        self.tasks.begin(noting, "an event of a refusal")
