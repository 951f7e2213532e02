"""A bridge at the daemon's socket: its lines in, the server's lines out, each with who it is by the kernel's word.

A line from a bridge is a key, a space and a message; a line to it is a message. Knows the wire to the bridge and the SDK's
streams; knows no tool.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from lamplighter.domain.permission import Caller, Rank
from lamplighter.errors import Code
from lamplighter.frontends.mcp.bridge import LONGEST
from lamplighter.frontends.mcp.server import Envelope
from lamplighter.frontends.mcp.tool_context import McpClient
from lamplighter.frontends.refusals import Refusals

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

log = logging.getLogger(__name__)
Incoming = SessionMessage | Exception
_MOST_OPEN = 1000
"""Requests of one connection without an answer: each is a task, and whoever never reads could begin any number."""
_LONGEST = LONGEST + (1 << 19)
"""A bridge refuses what is longer, so this is none; a read may bring the beginning of the next line."""


def client_of(caller: Caller, pid: int, start: int, hello: dict[str, Any], gone: asyncio.Event) -> McpClient:
    """Over MCP nobody is the operator: a client outside any session, with no agent above it, is itself, and can be asked."""
    can_be_asked = caller.rank is Rank.OPERATOR
    if can_be_asked:
        caller = Caller(Rank.CLIENT, f"client:{pid}@{start}", pid=caller.pid)
    return McpClient(caller, hello.get("cwd"), hello.get("environment"), gone, can_be_asked)


class McpConnection:
    def __init__(self, server: Server[Any], sock: socket.socket, client: McpClient, refusals: Refusals) -> None:
        self.server = server
        self.sock = sock
        self.client = client
        self.refusals = refusals
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._open: set[Any] = set()

    async def serve(self, buffer: bytearray) -> None:
        """Until the bridge leaves. What it has sent already is in the buffer."""
        arriving, incoming = anyio.create_memory_object_stream[Incoming](64)
        outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](64)
        async with anyio.create_task_group() as group:
            group.start_soon(self._receive, buffer, arriving)
            group.start_soon(self._send, leaving)
            await serve_dual_era_loop(self.server, incoming, outgoing, lifespan_state={})
            group.cancel_scope.cancel()

    async def _receive(self, buffer: bytearray, arriving: MemoryObjectSendStream[Incoming]) -> None:
        async with arriving:
            while True:
                while (end := buffer.find(b"\n")) >= 0:
                    line = bytes(buffer[:end])
                    del buffer[: end + 1]
                    await self._take(line, arriving)
                try:
                    data = await self._loop.sock_recv(self.sock, 1 << 18)
                except OSError:
                    data = b""
                buffer += data
                if not data or len(buffer) > _LONGEST:
                    self.client.gone.set()
                    return

    async def _take(self, line: bytes, arriving: MemoryObjectSendStream[Incoming]) -> None:
        key, _, text = line.partition(b" ")
        if key == b"!":
            self._note(text)
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValueError as error:
            await self._write(_unreadable(text, error))
            return
        if isinstance(message, types.JSONRPCRequest):
            if message.id in self._open or len(self._open) >= _MOST_OPEN:
                await self._write(_one_too_many(message.id, twice=message.id in self._open))
                return
            self._open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._open.discard(_cancelled(message.params))
        envelope = Envelope(self.client, key.decode(errors="replace"))
        await arriving.send(SessionMessage(message, ServerMessageMetadata(request_context=envelope)))

    def _note(self, text: bytes) -> None:
        """The bridge has refused a message itself, and says which."""
        try:
            told = json.loads(text)
            why = f"a message of {told['size']} bytes: {told['refused']}"
        except (ValueError, LookupError, TypeError, RecursionError):
            return
        self.refusals.count(self.client.caller, why, tool="any", code=Code.BAD_INPUT.value)

    async def _send(self, leaving: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with leaving:
            async for item in leaving:
                if isinstance(item.message, types.JSONRPCError) and item.message.error.code == types.CONNECTION_CLOSED:
                    continue  # we go: without an answer the bridge asks our successor again, with the same key
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(item.message.id)
                await self._write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async def _write(self, line: bytes) -> None:
        """One line at a time: answers and what is said of unreadable messages come from two tasks, and a socket that is full
        takes a part of a line, and the loop one waiting writer."""
        async with self._sending:
            try:
                await self._loop.sock_sendall(self.sock, line + b"\n")
            except OSError:
                self.client.gone.set()


def _cancelled(params: dict[str, Any] | None) -> str | int | None:
    number = (params or {}).get("requestId")
    return number if isinstance(number, str | int) else None


def _one_too_many(number: str | int, *, twice: bool) -> bytes:
    """With no id when that one is taken: it must not pass for the answer to the first."""
    if twice:
        text = f"another request with the id {str(number)[:60]!a} waits for its answer; this one was not carried out"
    else:
        text = f"BAD_INPUT: {_MOST_OPEN} requests wait for answers already; this one was not carried out. Next: read those first"
    problem = {"code": types.INVALID_REQUEST, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": None if twice else number, "error": problem}).encode()


def _unreadable(text: bytes, error: ValueError) -> bytes:
    """The answer to what is no message; with its id, when it has one."""
    number: Any = None
    try:
        found: Any = json.loads(text)
        number = found.get("id") if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        code = types.INVALID_REQUEST
    except (ValueError, RecursionError):
        code = types.PARSE_ERROR
    log.info("a message cannot be read: %s", str(error)[:200])
    problem = {"code": code, "message": "this is no JSON-RPC message that MCP knows"}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": problem}).encode()
