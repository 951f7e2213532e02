"""What is sent back over HTTP: one JSON document, or lines and events as they come. Knows ASGI's messages alone."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.calls import CallerGoneError
from lamplighter.frontends.http.guard import Receive
from lamplighter.frontends.http.refusals import Send
from lamplighter.frontends.web.assets import SAFE

Headers = list[tuple[bytes, bytes]]
PROTOCOL = "lamplighter"
"""What the page speaks over a WebSocket."""


async def body_of(receive: Receive) -> dict[str, Any]:
    """The JSON object that was sent; BAD_INPUT when it is none."""
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerGoneError
        data += message.get("body", b"")
        if not message.get("more_body", False):
            break
    try:
        found: Any = json.loads(bytes(data) or b"{}")
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
