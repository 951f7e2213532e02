"""What is sent back over HTTP: one JSON document, or lines and events as they come. Knows HTTP; knows no operation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Send

from lamplighter.errors import Code, InputError
from lamplighter.frontends.calls import CallerGoneError
from lamplighter.frontends.web.assets import SAFE

Headers = list[tuple[bytes, bytes]]
PROTOCOL = "lamplighter"
"""What the page speaks over a WebSocket."""


async def body_of(receive: Receive) -> dict[str, Any]:
    """The JSON object that was sent; BAD_INPUT when it is none."""
    try:
        data = await Request({"type": "http"}, receive).body()
    except ClientDisconnect:
        raise CallerGoneError from None
    try:
        found: Any = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(Code.BAD_INPUT, "that is no JSON object", 'send {"args": {}, "key": "a random word"}')
    return found  # pyright: ignore[reportUnknownVariableType]


async def send_text(send: Send, status: int, text: str, more: Headers | None = None) -> None:
    data = text.encode()
    headers = [(b"content-length", str(len(data)).encode()), *(more or [])]
    await _start(send, status, b"application/json", headers)
    await send({"type": "http.response.body", "body": data})


class Stream:
    """An answer that comes in parts; it begins with the first."""

    def __init__(self, send: Send, kind: bytes) -> None:
        self._send = send
        self._kind = kind
        self.begun = False

    async def begin(self) -> None:
        if not self.begun:
            self.begun = True
            await _start(self._send, 200, self._kind, [])

    async def write(self, text: str) -> None:
        await self.begin()
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _start(send: Send, status: int, kind: bytes, more: Headers) -> None:
    date = formatdate(usegmt=True).encode()  # the page may be on a machine whose clock goes otherwise
    headers = [(b"content-type", kind), (b"cache-control", b"no-store"), (b"date", date), *SAFE, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def while_there(answer: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Until it is answered, or whoever asked leaves. A call that changes something goes on all the same."""
    tasks = asyncio.ensure_future(answer), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception) and not isinstance(end, OSError):  # who has left hears nothing of the answer
            raise end


async def _left(receive: Receive) -> None:
    while not (await receive())["type"].endswith(".disconnect"):
        pass
