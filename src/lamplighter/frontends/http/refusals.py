"""What is answered to those who are not let in, and the events of it: at most one a minute for each reason, with a count.

Knows ASGI's messages; knows no rule. Nothing that a stranger sent is ever in an event.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from lamplighter.domain.permission import Caller, Rank
from lamplighter.errors import Code
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.tasks import Tasks

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
STRANGER = Caller(Rank.NOBODY, "http")
_EVERY = 60.0


class Refused(Exception):
    """`reason` is what the event says; None for what is only not there."""

    def __init__(
        self, status: int, code: Code, message: str, hint: str, reason: str | None = None, by: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.reason = reason
        self.by = by
        self.closes = False  # the connection ends with the answer, and what comes after is not looked at

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        found = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        if self.closes:
            found.append((b"connection", b"close"))
        if self.status == 401:
            found.append((b"www-authenticate", b'Bearer realm="lamplighter"'))
        return found

    def body(self) -> bytes:
        error: dict[str, Any] = {"code": self.code.value, "message": self.message, "hint": self.hint, "details": {}}
        return json.dumps({"error": error}).encode()


@dataclass
class _Count:
    held_back: int = 0
    timer: asyncio.TimerHandle | None = None


class Refusals:
    def __init__(self, fleet: Fleet, tasks: Tasks) -> None:
        self.fleet = fleet
        self.tasks = tasks
        self._counts: dict[tuple[str, str], _Count] = {}

    async def answer(self, refused: Refused, send: Send) -> None:
        if refused.reason:
            self._count(refused.reason, refused.by)
        body = refused.body()
        headers = [*refused.headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def close(self) -> None:
        """What was held back is told now."""
        for (reason, by), count in self._counts.items():
            if count.timer is not None:
                count.timer.cancel()
            if count.held_back:
                self._note(reason, by, count.held_back)

    def _count(self, reason: str, by: str) -> None:
        count = self._counts.setdefault((reason, by), _Count())
        if count.timer is not None:
            count.held_back += 1
            return
        self._note(reason, by, 1)
        self._wait(reason, by, count)

    def _wait(self, reason: str, by: str, count: _Count) -> None:
        count.timer = asyncio.get_running_loop().call_later(_EVERY, self._tell, reason, by)

    def _tell(self, reason: str, by: str) -> None:
        count = self._counts[reason, by]
        count.timer = None
        if not count.held_back:
            del self._counts[reason, by]
            return
        self._note(reason, by, count.held_back)
        count.held_back = 0
        self._wait(reason, by, count)

    def _note(self, reason: str, by: str, times: int) -> None:
        who = Caller(Rank.TOKEN, by) if by else STRANGER
        noting = self.fleet.note_if_possible(None, who, "refused", door="http", reason=reason, times=times)
        self.tasks.begin(noting, "an event of a refusal")
