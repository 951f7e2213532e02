"""A client at the HTTP door that a test drives request by request, and that can misbehave. For tests only."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

from websockets.sync.client import connect
from websockets.sync.connection import Connection
from websockets.typing import Origin, Subprotocol

from tests.support.engine import Engine
from tests.support.mcp_client import LEGACY, MODERN

_SECONDS = 120.0
_PREFIX = "io.modelcontextprotocol/"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.body)["error"]

    @property
    def message(self) -> dict[str, Any]:
        """The JSON-RPC message, whichever way it came: as JSON, or the last of a stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [line for line in self.body.decode().splitlines() if line.startswith("data: {")]
            return json.loads(lines[-1].removeprefix("data: "))
        return json.loads(self.body)


class Web:
    """`secret` goes with every request; what a test gives as a header comes first, and None leaves one out."""

    def __init__(self, port: int, secret: str | None = None, protocol: str = LEGACY) -> None:
        self.port = port
        self.secret = secret
        self.protocol = protocol
        self.session: str | None = None
        self._numbers = itertools.count(1)

    def ask(self, method: str, path: str, body: bytes | str | None = None, **headers: str | None) -> Reply:
        with self.open(method, path, body, **headers) as answer:
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    @contextmanager
    def open(
        self, method: str, path: str, body: bytes | str | None = None, **headers: str | None
    ) -> Generator[http.client.HTTPResponse]:
        """The answer as soon as it begins; what comes of it is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        given = {**self._usual(), **{name.replace("_", "-").lower(): value for name, value in headers.items()}}
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            yield connection.getresponse()
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """Bytes as they are, and all that comes back until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_SECONDS) as sock:
            found = b""
            with suppress(BrokenPipeError, ConnectionResetError):  # it hangs up before it has read all of it
                sock.sendall(data)
            with suppress(OSError):  # it has hung up already
                sock.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while part := sock.recv(1 << 16):
                    found += part
            return found

    # -- MCP

    def initialize(self, path: str = "/mcp", **capabilities: Any) -> Reply:
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": self.protocol, "capabilities": capabilities, "clientInfo": info}
        reply = self.post("initialize", params, path)
        self.session = reply.headers.get("mcp-session-id")
        if self.session:
            self.ask("POST", path, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return reply

    def call(self, tool: str, path: str = "/mcp", **arguments: Any) -> dict[str, Any]:
        """The whole result of a tool."""
        return self.post("tools/call", {"name": tool, "arguments": arguments}, path).message["result"]

    def post(self, method: str, params: dict[str, Any], path: str = "/mcp", **headers: str | None) -> Reply:
        return self.ask("POST", path, self.line(method, params), **self._routing(method, params), **headers)

    def line(self, method: str, params: dict[str, Any]) -> str:
        if self.protocol == MODERN:
            told = {"protocolVersion": MODERN, "clientInfo": {"name": "test", "version": "1"}, "clientCapabilities": {}}
            params = {**params, "_meta": {f"{_PREFIX}{name}": value for name, value in told.items()}}
        return json.dumps({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})

    def _routing(self, method: str, params: dict[str, Any]) -> dict[str, str | None]:
        if self.protocol != MODERN:
            return {}
        return {"mcp_method": method, "mcp_name": params.get("name")}

    def _usual(self) -> dict[str, str | None]:
        begun = self.session is not None or self.protocol == MODERN
        return {
            "authorization": f"Bearer {self.secret}" if self.secret else None,
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-session-id": self.session,
            "mcp-protocol-version": self.protocol if begun else None,
        }


class Page(Web):
    """The page as its script is: logged in, with the cookie and the proof."""

    def __init__(self, lit: Engine) -> None:
        super().__init__(port_of(lit))
        self.cookie: str | None = None
        self.proof: str | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log_in(self, link: str) -> Reply:
        """With what `open_page` gave as its url."""
        reply = self.ask("POST", "/api/login", json.dumps({"link": link.partition("#login=")[2]}))
        if reply.status == 200:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
            self.proof = json.loads(reply.body)["proof"]
        return reply

    def do(self, operation: str, key: str | None = None, **arguments: Any) -> Any:
        """The result of an operation, or its error."""
        body = json.dumps({"args": arguments, "key": key or f"test-{uuid.uuid4().hex}"})
        answer = json.loads(self.ask("POST", f"/api/call/{operation}", body).body)
        return answer["result"] if "result" in answer else answer["error"]

    @contextmanager
    def live(self, **query: str) -> Generator[Iterator[tuple[str, Any]]]:
        """What is told live, event by event."""
        with self.open("GET", f"/api/live?{urlencode(query)}") as answer:
            assert answer.status == 200, answer.read()
            yield _events(answer)

    @contextmanager
    def terminal(self, session: str, origin: str | None = None) -> Generator[Connection]:
        told = {"Cookie": self.cookie} if self.cookie else {}
        spoken = [Subprotocol("lamplighter"), Subprotocol(f"proof.{self.proof}")]
        address = f"ws://127.0.0.1:{self.port}/api/terminal/{session}"
        with connect(
            address, origin=Origin(origin or self.origin), subprotocols=spoken, additional_headers=told
        ) as socket:
            yield socket

    def _usual(self) -> dict[str, str | None]:
        return {**super()._usual(), "cookie": self.cookie, "x-lamplighter-proof": self.proof, "origin": self.origin}


def page(lit: Engine) -> Page:
    """Logged in, at an engine that was made with LAMPLIGHTER_HTTP_PORT=0."""
    made = Page(lit)
    assert made.log_in(lit.call("open_page")["url"]).status == 200
    return made


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    event = ""
    while line := answer.readline().decode():
        if line.startswith("event: "):
            event = line[7:].strip()
        elif line.startswith("data: "):
            yield event, json.loads(line[6:])


def web(lit: Engine, scope: str = "read,start,send,end", name: str = "test", protocol: str = LEGACY) -> Web:
    """A client with a token of its own, at an engine that was made with LAMPLIGHTER_HTTP_PORT=0."""
    secret = lit.call("create_token", name=name, scope=scope)["secret"]
    return Web(port_of(lit), secret, protocol)


def port_of(lit: Engine) -> int:
    return int(lit.call("get_status")["http"].rpartition(":")[2])


def descriptors(pid: int) -> list[str]:
    """What a process has open, as /proc names it."""
    found: list[str] = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found
