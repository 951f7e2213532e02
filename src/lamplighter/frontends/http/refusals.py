"""What is answered to those who are not let in. Knows ASGI's messages; knows no rule."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from lamplighter.domain.permission import Caller, Rank
from lamplighter.errors import Code

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
STRANGER = Caller(Rank.NOBODY, "http")


class HttpRefusal(Exception):
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
    def caller(self) -> Caller:
        return Caller(Rank.TOKEN, self.by) if self.by else STRANGER

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


async def answer(refused: HttpRefusal, send: Send, kind: str = "http") -> None:
    """`kind` is the scope's: a WebSocket that is not let in is answered with HTTP too."""
    body = refused.body()
    headers = [*refused.headers, (b"content-length", str(len(body)).encode())]
    kind = "websocket.http" if kind == "websocket" else "http"
    await send({"type": f"{kind}.response.start", "status": refused.status, "headers": headers})
    await send({"type": f"{kind}.response.body", "body": body})
