"""The MCP servers of this daemon, one for each toolset that somebody has asked for.

The SDK takes half a second and tens of megabytes to load: it is loaded for the first client, beside everything else.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from typing import TYPE_CHECKING, Any

from lamplighter.engine.service.callers import Peer
from lamplighter.frontends.mcp.toolsets import load
from lamplighter.frontends.refusals import Refusals
from lamplighter.holder import proc

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from lamplighter.app import App
    from lamplighter.domain.permission import Caller

_SDK = "lamplighter.frontends.mcp.connection"


class Servers:
    def __init__(self, app: App) -> None:
        self.app = app
        self._built: dict[str, Server[Any]] = {}
        self._lock = asyncio.Lock()
        self._refusals = Refusals(app.registry, app.tasks)

    async def get(self, name: str) -> Server[Any]:
        """The server of this toolset; BAD_INPUT when there is none."""
        found = self._built.get(name)
        if found is not None:
            return found
        async with self._lock:
            if name not in self._built:
                toolset = await asyncio.to_thread(load, name)
                await asyncio.to_thread(importlib.import_module, _SDK)
                from lamplighter.frontends.mcp.server import build

                self._built[name] = build(self.app, toolset, self._refusals)
            return self._built[name]

    async def serve(
        self,
        name: str,
        sock: socket.socket,
        buffer: bytearray,
        caller: Caller,
        peer: Peer,
        hello: dict[str, Any],
        gone: asyncio.Event,
    ) -> None:
        """Speak MCP with a bridge until it leaves."""
        from lamplighter.frontends.mcp.connection import McpConnection, client_of

        client = client_of(caller, peer.pid, proc.start_of(peer.pid) or 0, hello, gone)
        await McpConnection(await self.get(name), sock, client, self._refusals).serve(buffer)
