"""A session that lies idle ends, and what was begun in it with it; one that is in use does not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.token import Token
from lamplighter.frontends.http.mcp_endpoints import McpEndpoint

TOKEN = Token("tk-1", "test", "", frozenset({"read"}), 0.0, None)
CALLER = Caller(Rank.TOKEN, "token:test", scopes=TOKEN.scopes)


class Asker:
    """Requests without a socket."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self.endpoint = endpoint
        self.session = b""

    async def ask(self, method: str, **params: Any) -> int:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
        if self.session:
            headers.append((b"mcp-session-id", self.session))
        arriving, found = [{"type": "http.request", "body": body}], dict[str, Any]()

        async def receive() -> Any:
            if arriving:
                return arriving.pop()
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            found.update(message)

        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "query_string": b""}
        await self.endpoint.serve(TOKEN, CALLER, scope, receive, send)
        self.session = next((value for name, value in found["headers"] if name == b"mcp-session-id"), self.session)
        return found["status"]


def test_idle_sessions_end() -> None:
    async def main() -> None:
        endpoint = await McpEndpoint(StreamableHTTPSessionManager(Server("test"), session_idle_timeout=None)).begin()
        askers = [Asker(endpoint) for _ in range(3)]
        info = {"name": "test", "version": "1"}
        for asker in askers:
            said = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
            assert await asker.ask("initialize", **said) == 200
        idle, used, fresh = (endpoint._sessions[asker.session] for asker in askers)  # pyright: ignore[reportPrivateUsage]
        idle.since = used.since = float("-inf")
        used.open = 1
        await endpoint._end_idle()  # pyright: ignore[reportPrivateUsage]
        assert [one.client.gone.is_set() for one in (idle, used, fresh)] == [True, False, False]
        assert [await asker.ask("ping") for asker in askers] == [404, 200, 200]
        await endpoint.close()
        assert fresh.client.gone.is_set()

    asyncio.run(main())
