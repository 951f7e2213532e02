"""Calls that were refused leave an event: the operator can see who tries what. Trying without end leaves few."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lamplighter.domain.permission import Caller
from lamplighter.errors import Code, LampError

if TYPE_CHECKING:
    from lamplighter.app import App

_REFUSED = frozenset(
    {Code.BAD_INPUT, Code.BAD_NAME, Code.NOT_FOUND, Code.KEY_REUSED, Code.PLAN_EXPIRED, Code.PLAN_APPLIED}
)
"""What the rules below refuse for want of rights leaves its event there."""
_SECONDS = 60.0
_MOST = 1000


class Refusals:
    def __init__(self, app: App) -> None:
        self.app = app
        self._last: dict[tuple[str, str, Code], float] = {}

    async def note(self, caller: Caller, tool: str, error: LampError) -> None:
        """At most one event a minute for the same caller, tool and code."""
        key, now = (caller.name, tool, error.code), time.monotonic()
        if error.code not in _REFUSED or now - self._last.get(key, -_SECONDS) < _SECONDS:
            return
        if len(self._last) >= _MOST:
            self._last.clear()
        self._last[key] = now
        await self.app.fleet.note_if_possible(
            None, caller, "refused", tool=tool, code=error.code.value, why=error.message[:200]
        )
