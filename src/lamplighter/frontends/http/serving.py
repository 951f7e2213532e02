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

from lamplighter.frontends.http.endpoints import Endpoints
from lamplighter.frontends.http.guard import Guard
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.web.pages import Pages

if TYPE_CHECKING:
    from lamplighter.app import App

_MOST_CONNECTIONS = 512
_SILENCE_SECONDS = 30.0
_KEEP_ALIVE_SECONDS = 65
_GOODBYE_SECONDS = 2.0


class Serving:
    def __init__(self, app: App, servers: Servers, listener: socket.socket) -> None:
        self.listener = listener
        self.endpoints = Endpoints(servers)
        port: int = listener.getsockname()[1]
        self.guard = Guard(app, port, self.endpoints, Pages(app, port))
        self.state = ServerState()
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
            lambda: Connection(config, self.state, {}), sock=self.listener
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


class Connection(H11Protocol):
    """Only so many at once, and none that says nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if len(self.connections) > _MOST_CONNECTIONS:
            transport.abort()
        else:
            self._silence = self.loop.call_later(_SILENCE_SECONDS, self._hang_up)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on the connection is another protocol's, which has its own way to find out that nobody is there."""
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def _stop_waiting(self) -> None:
        silence: asyncio.TimerHandle | None = getattr(self, "_silence", None)
        if silence is not None:
            silence.cancel()

    def _hang_up(self) -> None:
        if cast("Any", self.cycle) is None:
            self.transport.abort()
