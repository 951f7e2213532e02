"""Terminals on the page, a WebSocket each: what it says, and the keyboard when the operator takes it.

The page says in JSON {"type": "take", "rows": 40, "cols": 120}, {"type": "resize", "rows", "cols"}, {"type": "release"} and, of
what it has drawn, {"type": "drawn", "bytes": 65536}; what is typed comes as bytes. We say {"type": "screen", "rows", "cols",
"whole"}, after which the next bytes draw the screen anew, on a terminal that was reset if it is the whole; bytes that go on
from there; {"type": "size", "rows", "cols"}; {"type": "skipped", "bytes"}; {"type": "keyboard", "held"}; {"type": "ended"} or
{"type": "lost"} at the end; and {"type": "error", "error"}. Who draws slowly skips ahead, and is told.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Send

from lamplighter.errors import LampError
from lamplighter.frontends.calls import CallAnswer, answered
from lamplighter.frontends.http.guard import Guest
from lamplighter.frontends.web.broadcast import Broadcasts, Watcher
from lamplighter.frontends.web.keyboard import Keyboard
from lamplighter.frontends.web.replies import PROTOCOL

if TYPE_CHECKING:
    from lamplighter.app import App

log = logging.getLogger(__name__)
_LARGEST = 1000


class PageTerminals:
    def __init__(self, app: App) -> None:
        self.app = app
        self.broadcasts = Broadcasts(app)

    async def serve(self, guest: Guest, word: str, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        visit = _Visit(self.app, guest, self.broadcasts, send)
        try:
            await visit.begin(word)
        except LampError as error:
            await visit.say({"type": "error", "error": error.document()})
            await send({"type": "websocket.close", "code": 1000})
            return
        showing = asyncio.ensure_future(visit.show())
        hearing = asyncio.ensure_future(visit.hear(receive))
        try:
            await asyncio.wait((showing, hearing), return_when=asyncio.FIRST_COMPLETED)
            if showing.done() and showing.exception() is None:
                await send({"type": "websocket.close", "code": 1000})
        finally:
            await _stopped(visit, showing, hearing)


async def _stopped(visit: _Visit, *tasks: asyncio.Task[None]) -> None:
    """Both, before the visit leaves: one of them may be about to take the keyboard."""
    for task in tasks:
        task.cancel()
    try:
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        visit.leave()
    for end in ends:
        if isinstance(end, Exception) and not isinstance(end, OSError):  # the page may be gone before it hears all
            log.error("a terminal on the page failed", exc_info=end)


class _Visit:
    """One terminal on one page."""

    def __init__(self, app: App, guest: Guest, broadcasts: Broadcasts, send: Send) -> None:
        self.app = app
        self.guest = guest
        self.broadcasts = broadcasts
        self._send = send
        self.session = ""
        self.watcher: Watcher | None = None
        self.keyboard: Keyboard | None = None

    async def begin(self, word: str) -> None:
        async with self._answered("watch_terminal", session=word) as answer:
            self.session = answer.document()["id"]
        self.watcher = await self.broadcasts.join(self.session)

    def leave(self) -> None:
        self._release()
        if self.watcher is not None:
            self.watcher.leave()

    async def say(self, message: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": json.dumps(message)})

    async def show(self) -> None:
        """Until the session ends, or its holder is lost."""
        assert self.watcher is not None
        async for part in self.watcher.parts():
            if isinstance(part, bytes):
                await self._send({"type": "websocket.send", "bytes": part})
            else:
                await self.say(part)

    async def hear(self, receive: Receive) -> None:
        """Until the page leaves."""
        while (message := await receive())["type"] == "websocket.receive":
            data, text = message.get("bytes"), message.get("text")
            if data and self.keyboard is not None:
                self.keyboard.type(data)
            elif text:
                await self._obey(text)

    async def _obey(self, text: str) -> None:
        try:
            wish: Any = json.loads(text)
            kind = wish["type"]
            size = [min(_LARGEST, max(1, int(wish[name]))) for name in ("rows", "cols") if name in wish]
            drawn = int(wish.get("bytes", 0))
        except (ValueError, TypeError, KeyError, RecursionError):
            return  # not ours, or not of this version
        if kind == "drawn" and self.watcher is not None:
            self.watcher.drew(drawn)
        elif kind == "resize" and self.keyboard is not None and len(size) == 2:
            self.keyboard.resize(*size)
        elif kind == "release":
            self._release()
            await self.say({"type": "keyboard", "held": False})
        elif kind == "take" and len(size) == 2:
            await self._take(*size)

    async def _take(self, rows: int, cols: int) -> None:
        self._release()
        try:
            async with self._answered("take_keyboard", session=self.session, rows=rows, cols=cols) as answer:
                answer.document()
                self.keyboard = Keyboard.on(os.dup(answer.descriptors[0]))
        except LampError as error:
            await self.say({"type": "error", "error": error.document()})
            return
        await self.say({"type": "keyboard", "held": True})

    def _answered(self, operation: str, **arguments: Any) -> AbstractAsyncContextManager[CallAnswer]:
        return answered(self.app, self.guest.caller, operation, arguments, key="", gone=asyncio.Event())

    def _release(self) -> None:
        if self.keyboard is not None:
            self.keyboard.release()
            self.keyboard = None
