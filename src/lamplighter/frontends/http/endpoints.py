"""MCP over HTTP: the SDK's Streamable HTTP for each toolset, both eras, behind the guard.

A session of the older era belongs to the token that began it: the SDK compares, we tell it whose request it is. Knows paths
and the SDK; who may come in is the guard's.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from lamplighter.domain.token import Token
from lamplighter.frontends.http.guard import LONGEST, Receive, Scope
from lamplighter.frontends.http.refusals import Message, Send
from lamplighter.frontends.mcp.conversation import Client
from lamplighter.frontends.mcp.server import STATE
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.mcp.toolsets import TOOLSETS

_MOST_SESSIONS = 1000
_SESSION = b"mcp-session-id"


class Endpoints:
    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._open: dict[str, Endpoint] = {}
        self._lock = asyncio.Lock()

    def has(self, path: str) -> bool:
        return path == "/mcp" or (path.startswith("/mcp/") and path[5:] in TOOLSETS)

    async def serve(self, token: Token, client: Client, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = await self._get(scope["path"][5:] or "core")
        await endpoint.serve(token, client, scope, receive, send)

    async def forget(self, token: Token) -> None:
        for endpoint in list(self._open.values()):
            await endpoint.forget(token)

    async def close(self) -> None:
        for endpoint in self._open.values():
            await endpoint.close()

    async def _get(self, name: str) -> Endpoint:
        async with self._lock:
            if name not in self._open:
                server = await self.servers.get(name)
                self._open[name] = await Endpoint(
                    StreamableHTTPSessionManager(server, max_request_body_size=LONGEST, max_sessions=_MOST_SESSIONS)
                ).begin()
            return self._open[name]


class Endpoint:
    """One toolset. The SDK wants its sessions to live and end in one task."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sessions: dict[bytes, str] = {}  # of the older era, each with its token

    async def begin(self) -> Endpoint:
        self._task = asyncio.get_running_loop().create_task(self._hold(), name="mcp over http")
        await self._ready.wait()
        return self

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    async def _hold(self) -> None:
        async with self.manager.run():
            self._ready.set()
            await self._closing.wait()

    async def serve(self, token: Token, client: Client, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._remember(token, message["headers"])
            await send(message)

        await self.manager.handle_request(_told(token, scope, client), receive, watched)

    def _remember(self, token: Token, headers: list[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            if name.lower() == _SESSION:
                self._sessions.pop(value, None)  # to the end: the one that was used last is forgotten last
                self._sessions[value] = token.id
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    async def forget(self, token: Token) -> None:
        """End its sessions, as their client would."""
        for session in [session for session, owner in self._sessions.items() if owner == token.id]:
            del self._sessions[session]
            scope = {
                "type": "http",
                "method": "DELETE",
                "path": "/mcp",
                "headers": [(_SESSION, session)],
                "query_string": b"",
            }
            await self.manager.handle_request(_told(token, scope, None), _nothing_more, _to_nobody)


def _told(token: Token, scope: Scope, client: Client | None) -> Scope:
    """The request, with who asks: for the SDK the token that its session belongs to, for the tools the client."""
    known = AccessToken(token="", client_id=token.id, scopes=sorted(token.scopes))
    return {**scope, "user": AuthenticatedUser(known), STATE: client}


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_: Message) -> None:
    return
