"""MCP as bare as it can be, so that what is timed is the server and not a client: a process on pipes, or HTTP kept open.

Knows the messages of 2025-11-25; knows nothing of what the tools do.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BRIDGE = (sys.executable, "-m", "lamplighter.frontends.cli.main", "mcp")
ECHO = (sys.executable, "-m", "bench.mcp_echo")
_VERSION = "2025-11-25"
_INITIALIZE = {
    "protocolVersion": _VERSION,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Piped:
    """A stdio server: started, greeted, and asked."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._last = 0

    def greet(self) -> None:
        """Until the tools are listed: what an agent does first."""
        self._ask("initialize", _INITIALIZE)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._ask("tools/list", {})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return _succeeded(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._say({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while line := self._output.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._last:
                return message
        raise ConnectionError("the server went away")

    def _say(self, message: dict[str, Any]) -> None:
        self._input.write(json.dumps(message).encode() + b"\n")
        self._input.flush()

    def close(self) -> None:
        self._input.close()
        self._output.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Posted:
    """A server behind HTTP, over one connection that stays open."""

    def __init__(self, port: int, path: str = "/mcp", token: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._path = path
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._last = 0

    def greet(self) -> None:
        self._ask("initialize", _INITIALIZE)
        self._headers["MCP-Protocol-Version"] = _VERSION
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._ask("tools/list", {})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return _succeeded(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        body = self._post({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return json.loads(_without_frame(body))

    def _post(self, message: dict[str, Any]) -> bytes:
        self._connection.request("POST", self._path, json.dumps(message).encode(), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status >= 300:
            raise ConnectionError(f"HTTP {response.status}: {body[:200]!r}")
        if session := response.getheader("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = session
        return body

    def close(self) -> None:
        self._connection.close()


def _succeeded(message: dict[str, Any]) -> dict[str, Any]:
    if "error" in message or message["result"].get("isError"):
        raise RuntimeError(f"a call failed: {message}")
    return message["result"]


def _without_frame(body: bytes) -> bytes:
    """The last message of an event stream; a plain body as it is."""
    if body.startswith(b"{"):
        return body
    return [line[5:] for line in body.splitlines() if line.startswith(b"data:")][-1]
