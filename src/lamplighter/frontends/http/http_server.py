"""Serving the socket: uvicorn's HTTP/1.1 protocol on the daemon's own loop. Loaded with the first connection.

Of uvicorn only the protocol: its server wakes ten times a second and takes the process's signals, and neither is wanted
here. It comes with the MCP SDK.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from lamplighter.frontends.http.guard import LET_IN, Guard
from lamplighter.frontends.http.mcp_endpoints import McpEndpoints
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.web.pages import Pages

if TYPE_CHECKING:
    from lamplighter.app import App

_MOST_CONNECTIONS = 512
_PATIENCE_SECONDS = 30.0
_KEEP_ALIVE_SECONDS = 65
_GOODBYE_SECONDS = 2.0


class HttpServer:
    def __init__(self, app: App, servers: Servers, listener: socket.socket) -> None:
        self.listener = listener
        self.endpoints = McpEndpoints(servers)
        port: int = listener.getsockname()[1]
        self.guard = Guard(app, port, self.endpoints, Pages(app, port))
        self.state = ServerState()
        self.strangers: dict[HttpConnection, None] = {}
        self._server: asyncio.Server | None = None
        # What strangers send must not fill the daemon's log; that they were refused is in the events.
        for name in ("uvicorn", "mcp", "websockets"):
            logging.getLogger(name).setLevel(logging.ERROR)

    async def begin(self) -> None:
        config = Config(
            cast("Any", self.guard),
            http="h11",
            ws="websockets-sansio",
            ws_max_size=1 << 20,
            ws_per_message_deflate=False,
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        config.load()
        self._server = await asyncio.get_running_loop().create_server(
            lambda: HttpConnection(config, self.state, self.strangers), sock=self.listener
        )

    async def end(self) -> None:
        """No connection is left, nor anything that was served over one."""
        if self._server is not None:
            self._server.close()
        self.guard.close()
        if self.state.tasks:
            await asyncio.wait(self.state.tasks, timeout=_GOODBYE_SECONDS)
        await self.endpoints.close()
        for connection in list(self.state.connections):
            connection.transport.abort()


class HttpConnection(H11Protocol):
    """Whoever has not been let in is a stranger: it has so long for a request, and makes room for whoever comes when there
    are too many. `strangers` are all of them, the one that has been there longest first."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        strangers: dict[HttpConnection, None],
        patience: float = _PATIENCE_SECONDS,
    ) -> None:
        super().__init__(config, state, {LET_IN: self._let_go})
        self.strangers = strangers
        self.patience = patience
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_timed(self) -> bool:
        return self._deadline is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.strangers[self] = None
        self._wait()
        if len(self.connections) > _MOST_CONNECTIONS:
            oldest = next(iter(self.strangers))
            oldest.transport.abort()
            oldest._let_go()  # at once: it hears of it later

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        unfinished = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        if self in self.strangers and unfinished:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._let_go()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on the connection is another protocol's, which has its own way to find out that nobody is there."""
        self._let_go()
        super().handle_websocket_upgrade(event)

    def _let_go(self) -> None:
        """No stranger any more: it was let in, is another protocol's, or is gone."""
        self.strangers.pop(self, None)
        self._stop_waiting()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
