"""An engine with its page, on a port of its own; and pages that are not the engine's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lamplighter.frontends.web.assets import SAFE, assets
from tests.support.engine import Engine, engine

PAGE = '<!doctype html><html lang="en"><title>Small</title><main><h1>Small</h1>{}</main>'


@pytest.fixture
def served() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serves one page on loopback: with the headers and the libraries of ours, or as a page of somebody else."""
    own: dict[str, tuple[str, bytes]] = {}
    safe: list[tuple[bytes, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asset = next((asset for path, asset in assets().items() if path.endswith(self.path)), None)
            kind, data = own.get(self.path) or ((asset.kind, asset.data) if asset else ("text/plain", b""))
            self.send_response(200)
            for name, value in (*safe, (b"content-type", kind.encode()), (b"content-length", b"%d" % len(data))):
                self.send_header(name.decode(), value.decode())
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def serve(body: str, script: str = "", *, ours: bool = True) -> str:
        safe[:] = SAFE if ours else []
        linked = '<link rel="stylesheet" href="/style.css"><script type="module" src="/own.js"></script>'
        own["/own"] = ("text/html; charset=utf-8", PAGE.format(body + linked).encode())
        own["/own.js"] = ("text/javascript; charset=utf-8", script.encode())
        own["/favicon.ico"] = ("image/svg+xml", b"")
        return f"http://127.0.0.1:{server.server_port}/own"

    yield serve
    server.shutdown()
    thread.join()
    server.server_close()
