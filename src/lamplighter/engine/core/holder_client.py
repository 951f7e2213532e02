"""A line to a holder: requests and their answers, events, and its end, on the event loop. Knows the wire, no sessions."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
from collections.abc import Callable
from typing import Any

from lamplighter.errors import Code, Hint, UnavailableError, Use
from lamplighter.holder.wire import JSON, Channel, WireError


class BrokenError(UnavailableError):
    """The holder is gone: whether it did what it was asked, it cannot say any more."""


class RefusedError(Exception):
    """The holder answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message", ""))
        self.code = str(error.get("code", ""))


class HolderClient:
    """Not to be awaited from two loops. `heard` gets each event, `closed` is called once."""

    def __init__(
        self, sock: socket.socket, what: str, heard: Callable[[dict[str, Any]], None], closed: Callable[[], None]
    ) -> None:
        self.what = what
        self.channel = Channel(sock)
        self.alive = True
        self._heard = heard
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._next = 0
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._writing = False
        self._loop.add_reader(sock.fileno(), self._readable)

    async def ask(
        self, operation: str, descriptors: list[int] | None = None, **fields: Any
    ) -> tuple[dict[str, Any], list[int]]:
        """The answer, and the descriptors that came with it. RefusedError or HOLDER_UNREACHABLE when there is none."""
        if not self.alive:
            raise self._lost()
        self._next += 1
        number = self._next
        future: asyncio.Future[tuple[dict[str, Any], list[int]]] = self._loop.create_future()
        self._waiting[number] = future
        self._send({"op": operation, "n": number, **fields}, descriptors)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                for descriptor in future.result()[1]:  # it came for somebody who had just left
                    os.close(descriptor)
            raise

    async def type(self, data: bytes, by: str, key: str) -> dict[str, Any]:
        """Have the shim type this; answered when the session has taken it."""
        answer, _ = await self.ask("input", data=base64.b64encode(data).decode(), by=by, id=key)
        if answer.get("unsure"):
            raise UnavailableError(
                Code.OUTCOME_UNKNOWN,
                f"whether this was typed is not known: {self.what} was lost just then",
                Hint("look at the screen with ", Use("read"), ", and send it again with a new key if it is not there"),
            )
        return answer

    async def answer(self, data: bytes) -> None:
        """Have the shim type what a terminal answers to a program: nobody's input."""
        await self.ask("input", data=base64.b64encode(data).decode(), by="terminal", id="", answer=True)

    def tell(self, operation: str, **fields: Any) -> None:
        """Say something that has no answer."""
        if self.alive:
            self._send({"op": operation, **fields}, None)

    def close(self) -> None:
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self.channel.fileno())
        if self._writing:
            self._loop.remove_writer(self.channel.fileno())
        self.channel.close()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(self._lost())
        self._closed()

    def _send(self, message: dict[str, Any], descriptors: list[int] | None) -> None:
        if not self.channel.send_json(message, descriptors):
            self._loop.call_soon(self.close)
        elif self.channel.pending and not self._writing:
            self._writing = True
            self._loop.add_writer(self.channel.fileno(), self._writable)

    def _writable(self) -> None:
        if not self.channel.flush():
            self.close()
        elif not self.channel.pending:
            self._writing = False
            self._loop.remove_writer(self.channel.fileno())

    def _readable(self) -> None:
        try:
            frames = self.channel.read()
        except WireError:
            frames = None
        if frames is None:
            self.close()
            return
        try:
            for kind, payload in frames:
                if kind == JSON and self.alive:
                    self._take(json.loads(payload))
        except WireError:  # what was done is found when the other side is asked again
            self.close()

    def _take(self, message: dict[str, Any]) -> None:
        if "event" in message:
            self._heard(message)
            return
        descriptors = self.channel.take(message)
        future = self._waiting.pop(message.get("n", 0), None)
        if future is None or future.done():
            for descriptor in descriptors:
                os.close(descriptor)
        elif "error" in message:
            future.set_exception(RefusedError(message["error"]))
        else:
            future.set_result((message.get("ok") or {}, descriptors))

    def _lost(self) -> BrokenError:
        return BrokenError(
            Code.HOLDER_UNREACHABLE,
            f"the line to {self.what} broke",
            Hint("try again; if it stays so, ", Use("doctor"), " says more"),
        )
