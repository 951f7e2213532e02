"""Where HTTP comes in: one listening socket on 127.0.0.1. What serves it is loaded when the first connection waits at it.

Standard library only, so that a daemon that nobody visits over HTTP pays for a socket and no more. Knows ports; knows nothing of
what is said.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lamplighter.frontends.mcp.servers import Servers
from lamplighter.holder.files import write_file

if TYPE_CHECKING:
    from lamplighter.app import App

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
_BACKLOG = 128
_AGAIN_SECONDS = 2.0
_SERVING = "lamplighter.frontends.http.http_server"


class HttpDoor:
    def __init__(self, app: App, servers: Servers) -> None:
        self.app = app
        self.servers = servers
        self.listener: socket.socket | None = None
        self._serving: Any = None

    async def open(self) -> None:
        """Listen, and say where. A port that is taken is no reason for the daemon not to start."""
        self._unannounce()
        if self.app.settings.http_port is not None:
            self._listen(self.app.settings.http_port)

    def _listen(self, wanted: int) -> None:
        try:
            self.listener = _listen(wanted)
        except OSError as error:
            if not self.app.host.http_problem:
                self._fail(f"port {wanted} cannot be had: {error.strerror}; free it, or set another http_port")
            return
        port = self.listener.getsockname()[1]
        self.app.host.http_url, self.app.host.http_problem = f"http://{HOST}:{port}", ""
        self.announce()

    def announce(self) -> list[str]:
        """Say where the door is; what had to be written again."""
        url, path = self.app.host.http_url, self.app.settings.home.http_file
        if url is None or self.listener is None or os.path.exists(path):
            return []
        found = {"url": url, "port": self.listener.getsockname()[1], "pid": os.getpid()}
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return [path] if write_file(path, json.dumps(found).encode()) else []

    async def serve(self) -> None:
        if self.app.settings.http_port is None:
            return
        while self.listener is None:  # nothing tells when a port is free again
            await asyncio.sleep(_AGAIN_SECONDS)
            self._listen(self.app.settings.http_port)
        await _visited(self.listener)
        try:
            loaded = await asyncio.to_thread(importlib.import_module, _SERVING)
            self._serving = loaded.HttpServer(self.app, self.servers, self.listener)
            await self._serving.begin()
        except Exception as error:
            log.exception("HTTP cannot be served")
            self._fail(f"HTTP cannot be served: {error}")
            self.listener.close()

    async def close(self) -> None:
        if self.listener is None:
            return
        self._unannounce()
        if self._serving is not None:
            await self._serving.end()
        self.listener.close()

    def _fail(self, problem: str) -> None:
        log.warning("%s", problem)
        self.app.host.http_url, self.app.host.http_problem = None, problem
        self._unannounce()

    def _unannounce(self) -> None:
        """Also what a daemon that was killed left."""
        with suppress(FileNotFoundError):
            os.unlink(self.app.settings.home.http_file)


def _listen(port: int) -> socket.socket:
    # With its protocol named asyncio knows that it is TCP, and sends small answers at once: 40 ms each otherwise.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # The same port again at once after a restart; two listeners at a time it does not allow.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


async def _visited(listener: socket.socket) -> None:
    """Until somebody waits to be let in. It is accepted by what serves."""
    loop, visited = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, visited.set)
    try:
        await visited.wait()
    finally:
        loop.remove_reader(listener)
