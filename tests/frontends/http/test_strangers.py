"""Those who have no login: they get few bytes and little time, and keep nobody out."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from lamplighter.frontends.http.guard import LET_IN
from lamplighter.frontends.http.http_server import HttpConnection
from tests.support.engine import Engine
from tests.support.web import page, port_of, web

BODY = 15 << 20
HEAD = b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_login_that_never_ends_costs_nothing(served: Engine) -> None:
    """Thirty of fifteen megabytes, each but for its last byte: they are refused after a few kilobytes."""
    served.call("get_status")
    pid, port = served.daemon()[0], port_of(served)
    assert web(served).ask("GET", "/mcp").status != 500  # what serves is loaded
    before = resident(pid)
    head = f"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {BODY}\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(30):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=200))
            sock.sendall(head + b"x" * (BODY - 1))
            assert sock.recv(4096).startswith(b"HTTP/1.1 413")
        assert resident(pid) - before < 100 << 20
        assert page(served).ask("GET", "/").status == 200  # with all of them there


def test_idle_connections_keep_nobody_out(served: Engine) -> None:
    """More than there may be, all still open: the newest get in, and who was let in stays."""
    port, client = port_of(served), web(served)
    assert client.initialize().status == 200
    with ExitStack() as stack, client.open("GET", "/mcp") as stream:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=200)) for _ in range(600)]
        assert client.post("tools/list", {}).status == 200
        assert page(served).ask("GET", "/").status == 200
        assert stream.status == 200
        assert crowd[0].recv(1) == b""  # the oldest has made room


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    """Lets in who asks for /known; answers once it has the whole request."""
    if scope["path"] == "/known":
        scope["state"][LET_IN]()
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _hung_up(port: int, *parts: bytes) -> None:
    """Until the other side hangs up; each part is sent once the answer to the one before has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        for place, part in enumerate(parts):
            writer.write(part)
            if place + 1 < len(parts):
                await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
    writer.close()


def test_a_stranger_has_so_long_for_a_request() -> None:
    """Nothing said, half a head, half a body, half of the second request. Who was let in has all the time there is."""
    asyncio.run(_strangers_and_one_we_know())


async def _strangers_and_one_we_know() -> None:
    config = Config(cast("Any", _app), http="h11", lifespan="off", log_config=None, interface="asgi3")
    config.load()
    state, strangers, patience = ServerState(), dict[HttpConnection, None](), 120.0
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpConnection(config, state, strangers, patience), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(120):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD % b"known" + b"ab")
        while strangers or not state.connections:
            await asyncio.sleep(0)
        (known,) = state.connections
        assert not cast("HttpConnection", known).is_timed
        patience = 0.05
        whole, half = HEAD % b"one" + b"abcd", HEAD[:20]
        for parts in ((b"",), (half,), (HEAD % b"two" + b"ab",), (whole, half)):
            await _hung_up(port, *parts)
        writer.write(b"cd")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()
        while strangers or state.connections:
            await asyncio.sleep(0)
