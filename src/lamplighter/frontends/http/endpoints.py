"""MCP over HTTP: which path leads to which toolset, each served by the SDK's Streamable HTTP in both eras.

Knows paths; who may come in is the guard's, what is said the SDK's and the toolset's.
"""

from __future__ import annotations

import asyncio

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from lamplighter.domain.permission import Caller
from lamplighter.domain.token import Token
from lamplighter.frontends.http.endpoint import MOST_SESSIONS, Endpoint
from lamplighter.frontends.http.guard import LONGEST, Receive, Scope
from lamplighter.frontends.http.refusals import Send
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.mcp.toolsets import TOOLSETS


class Endpoints:
    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._open: dict[str, Endpoint] = {}
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

    async def _get(self, name: str) -> Endpoint:
        async with self._lock:
            if name not in self._open:
                # In the older era answers come as a stream: a long call shows signs of life that way, and can ask and tell
                # meanwhile. In the newer one what is quick comes as plain JSON; the SDK sees to that.
                manager = StreamableHTTPSessionManager(
                    await self.servers.get(name),
                    max_request_body_size=LONGEST,
                    max_sessions=MOST_SESSIONS,
                    session_idle_timeout=None,
                )
                self._open[name] = await Endpoint(manager).begin()
            return self._open[name]
