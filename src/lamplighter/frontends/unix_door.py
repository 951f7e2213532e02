"""The front door: a unix socket on which the command line speaks, a line of JSON a message. Each peer is known by the kernel.

Translates lines into calls of operations and back; no rule lives here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from lamplighter.engine.service.callers import Peer
from lamplighter.errors import Code, InputError, LampError
from lamplighter.frontends.calls import CallerGoneError, answered
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.holder import identity, places, release

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lamplighter.app import App
    from lamplighter.domain.permission import Caller

log = logging.getLogger(__name__)
LONGEST = 16 << 20
_PAUSE_SECONDS = 0.2
_ROOM = 8


class Door:
    def __init__(self, app: App, servers: Servers) -> None:
        self.app = app
        self.servers = servers
        self.listener: socket.socket | None = None
        self.path = ""
        self._inode: tuple[int, int] | None = None
        self._accepting: asyncio.Future[None] | None = None
        self._visits: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self.reopen()

    def reopen(self) -> list[str]:
        """Listen where the socket is to be, if it is not there (any more): what was made again."""
        home = self.app.settings.home
        if self._inode is not None and places.inode(self.path) == self._inode:
            return []
        before = self.listener
        self.listener, self.path = places.listen_in(home.run, home.state, "daemon.sock")
        self.listener.setblocking(False)
        self._inode = places.inode(self.path)
        home.make_run()
        places.record(os.path.dirname(self.path), home.state, "daemon", os.getpid(), code=release.RUNNING)
        identity.record(home.run, "daemon", os.getpid())
        if before is None:
            return []
        if self._accepting is not None:
            self._accepting.cancel()
        before.close()
        return [self.path]

    async def serve(self) -> None:
        while True:
            listener = self.listener
            assert listener is not None
            self._accepting = asyncio.ensure_future(self._accept_from(listener))
            try:
                await self._accepting
            except asyncio.CancelledError:
                if self.listener is listener:  # and not because there is another one
                    raise

    async def _accept_from(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:  # no descriptor or no memory is left, which passes; whoever waits is let in then
                log.warning("nobody can be let in: %s", error)
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            while not _has_room(listener):  # to look who calls takes descriptors too: without them it would be nobody
                await asyncio.sleep(_PAUSE_SECONDS)
            visit = loop.create_task(Visit(self.app, self.servers, sock).serve())
            self._visits.add(visit)
            visit.add_done_callback(self._visits.discard)

    async def close(self) -> None:
        if self.listener is not None:
            self.listener.close()
        for visit in list(self._visits):
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)


def _has_room(listener: socket.socket) -> bool:
    """Whether the process has descriptors left for what a call needs."""
    taken: list[int] = []
    try:
        taken += [os.dup(listener.fileno()) for _ in range(_ROOM)]
    except OSError:
        return False
    finally:
        for descriptor in taken:
            os.close(descriptor)
    return True


class Visit:
    """One connection, until its peer leaves."""

    def __init__(self, app: App, servers: Servers, sock: socket.socket) -> None:
        self.app = app
        self.servers = servers
        sock.setblocking(False)
        self.sock = sock
        self.gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._calls: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        peer = Peer.of(self.sock)
        try:
            caller = await self.app.callers.identify(peer)
            buffer = bytearray()
            while data := await self._loop.sock_recv(self.sock, 1 << 18):
                buffer += data
                if len(buffer) > LONGEST:
                    await self._send({"id": None, "error": _too_long().document()})
                    return
                while (end := buffer.find(b"\n")) >= 0:
                    line = bytes(buffer[:end])
                    del buffer[: end + 1]
                    if line.startswith(b'{"mcp":'):
                        await self._serve_bridge(line, buffer, caller, peer)
                        return
                    self._begin(line, caller)
        except OSError:
            pass  # the peer went away in its own time
        finally:
            self.gone.set()
            for call in list(self._calls):
                call.cancel()
            peer.close()
            self.sock.close()

    async def _serve_bridge(self, line: bytes, buffer: bytearray, caller: Caller, peer: Peer) -> None:
        """A bridge has come: from here on its lines are MCP. The SDK is loaded for the first one, beside everything else."""
        try:
            hello = _hello(line)
            await self.servers.get(hello["tools"])
        except LampError as error:
            await self._send({"error": error.document()})
            return
        await self._send({"mcp": {"wire": 1}})
        await self.servers.serve(hello["tools"], self.sock, buffer, caller, peer, hello, self.gone)

    def _begin(self, line: bytes, caller: Caller) -> None:
        task = self._loop.create_task(self._answer(line, caller))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _answer(self, line: bytes, caller: Caller) -> None:
        try:
            message = _parse(line)
        except LampError as error:
            with suppress(CallerGoneError):
                await self._send({"id": None, "error": error.document()})
            return
        number = json.dumps(message.get("id"))

        async def emit(item: BaseModel) -> None:
            await self._send_text(f'{{"id":{number},"item":{item.model_dump_json()}}}')

        name, key = str(message.get("op")), str(message.get("key") or "")
        arguments: dict[str, Any] = message.get("args") or {}
        with suppress(CallerGoneError):
            async with answered(self.app, caller, name, arguments, key=key, gone=self.gone, emit=emit) as answer:
                await self._send_text(f'{{"id":{number},{answer.member()}}}', answer.descriptors)

    async def _send(self, message: dict[str, Any]) -> None:
        await self._send_text(json.dumps(message, separators=(",", ":")))

    async def _send_text(self, text: str, descriptors: list[int] | None = None) -> None:
        data = text.encode() + b"\n"
        async with self._sending:
            try:
                if descriptors:
                    # The descriptors travel with the first bytes; a socket that is just answered has room for those.
                    sent = socket.send_fds(self.sock, [data], descriptors)
                    data = data[sent:]
                if data:
                    await self._loop.sock_sendall(self.sock, data)
            except OSError as error:
                raise CallerGoneError from error


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or not isinstance(cast("dict[str, Any]", message).get("args", {}), dict):
        raise InputError(
            Code.BAD_INPUT, "that is no request", 'send a line of JSON: {"id": 1, "op": "list_sessions", "args": {}}'
        )
    return cast("dict[str, Any]", message)


def _hello(line: bytes) -> dict[str, Any]:
    """What a bridge says first."""
    hello: Any = _parse(line).get("mcp")
    if not isinstance(hello, dict):
        raise InputError(Code.BAD_INPUT, "that is no bridge's greeting", "use lamp mcp")
    told = cast("dict[str, Any]", hello)
    environment, cwd = told.get("environment"), told.get("cwd")
    return {
        "tools": str(told.get("tools") or "core"),
        "cwd": cwd if isinstance(cwd, str) else None,
        "environment": _strings(cast("dict[Any, Any]", environment)) if isinstance(environment, dict) else None,
    }


def _strings(found: dict[Any, Any]) -> dict[str, str]:
    return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, str)}


def _too_long() -> InputError:
    return InputError(Code.BAD_INPUT, f"a request is at most {LONGEST >> 20} MiB long", "send less at once")
