"""MCP over HTTP: which path leads to which toolset, each served by the SDK's Streamable HTTP in both eras; and the sessions of
the older one: whose each is, and when it is over.

A session belongs to the token that began it: the SDK compares, we tell it whose request it is. How long one may lie idle is
looked after here, because what was begun in it (a subscription) has to end with it. Knows paths and the SDK; who may come in
is the guard's, what is said the toolset's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from lamplighter.domain.permission import Caller
from lamplighter.domain.token import Token
from lamplighter.frontends.http.guard import LONGEST
from lamplighter.frontends.mcp.server import STATE
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.mcp.tool_context import McpClient
from lamplighter.frontends.mcp.toolsets import TOOLSETS
from lamplighter.lazy_dataclass import dataclass

_MOST_SESSIONS = 1000
_IDLE_SECONDS = 1800.0
_LOOK_SECONDS = 60.0
_SESSION = b"mcp-session-id"
_BAD = 400


@dataclass
class HttpSession:
    """`client` is the same for all its requests. `open`: those under way, a stream that is listened at too."""

    token: Token
    client: McpClient
    since: float
    open: int = 0

    @contextmanager
    def in_use(self) -> Generator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.since = asyncio.get_running_loop().time()


class McpEndpoint:
    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager
        self._sessions: dict[bytes, HttpSession] = {}
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> McpEndpoint:
        self._task = asyncio.get_running_loop().create_task(self._hold(), name="mcp over http")
        await self._ready.wait()
        return self

    async def close(self) -> None:
        for session in self._sessions.values():
            session.client.gone.set()
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _hold(self) -> None:
        """The SDK wants its sessions to live and end in one task; while it waits, idle ones are looked for."""
        async with self.manager.run():
            self._ready.set()
            while not self._closing.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _LOOK_SECONDS)
                await self._end_idle()

    async def serve(self, token: Token, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        name = next((value for found, value in scope["headers"] if found == _SESSION), b"")
        session = self._sessions.get(name)
        if session is not None and session.token.id == token.id:
            with session.in_use():
                answered = await self._handle(token, session.client, scope, receive, send)
            if answered == 404 or (scope["method"] == "DELETE" and answered < _BAD):
                self._drop(name)
        else:
            await self._open(token, McpClient(caller, None, None, asyncio.Event()), scope, receive, send)

    async def _open(self, token: Token, client: McpClient, scope: Scope, receive: Receive, send: Send) -> None:
        """A request in no session. It is one of its own, or it begins one: then the first line of the answer names it."""
        begun: HttpSession | None = None

        async def watched(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and message["status"] < _BAD:
                names = [value for found, value in message["headers"] if found.lower() == _SESSION]
                if names:
                    begun = self._sessions[names[0]] = HttpSession(token, client, asyncio.get_running_loop().time())
            await send(message)

        try:
            await self._handle(token, client, scope, receive, watched)
        finally:
            if begun is None:
                client.gone.set()

    async def _handle(self, token: Token, client: McpClient | None, scope: Scope, receive: Receive, send: Send) -> int:
        """The status that was answered."""
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        known = AccessToken(token="", client_id=token.id, scopes=[])
        told = {**scope, "user": AuthenticatedUser(known), STATE: client}
        await self.manager.handle_request(told, receive, watched)
        return status

    # -- ending sessions

    async def forget(self, token: Token) -> None:
        for name, session in list(self._sessions.items()):
            if session.token.id == token.id:
                await self._end(name)

    async def _end_idle(self) -> None:
        before = asyncio.get_running_loop().time() - _IDLE_SECONDS
        for name, session in list(self._sessions.items()):
            if not session.open and session.since < before:
                await self._end(name)

    async def _end(self, name: bytes) -> None:
        """As its client would."""
        session = self._sessions.get(name)
        if session is not None:
            self._drop(name)
            scope = {"type": "http", "method": "DELETE", "path": "/mcp", "headers": [(_SESSION, name)]}
            await self._handle(session.token, None, scope, _nothing_more, _to_nobody)

    def _drop(self, name: bytes) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            session.client.gone.set()


class McpEndpoints:
    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._open: dict[str, McpEndpoint] = {}
        self._lock = asyncio.Lock()

    def has(self, path: str) -> bool:
        return path == "/mcp" or (path.startswith("/mcp/") and path[5:] in TOOLSETS)

    async def serve(self, token: Token, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = await self._get(scope["path"][5:] or "core")
        await endpoint.serve(token, caller, scope, receive, send)

    async def forget(self, token: Token) -> None:
        for endpoint in list(self._open.values()):
            await endpoint.forget(token)

    async def close(self) -> None:
        for endpoint in self._open.values():
            await endpoint.close()

    async def _get(self, name: str) -> McpEndpoint:
        async with self._lock:
            if name not in self._open:
                # In the older era answers come as a stream: a long call shows signs of life that way, and can ask and tell
                # meanwhile. In the newer one what is quick comes as plain JSON; the SDK sees to that.
                manager = StreamableHTTPSessionManager(
                    await self.servers.get(name),
                    max_request_body_size=LONGEST,
                    max_sessions=_MOST_SESSIONS,
                    session_idle_timeout=None,
                )
                self._open[name] = await McpEndpoint(manager).begin()
            return self._open[name]


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_: Message) -> None:
    return
