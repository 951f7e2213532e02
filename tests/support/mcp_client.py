"""An MCP client that a test drives message by message: real bridges over real pipes. For tests only.

The SDK's own client is used where a whole client is wanted; this one can also misbehave. Like the SDKs' it holds what each tool
returns, also when it fails, against the output schema of that tool.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import jsonschema

from lamplighter.frontends.mcp.toolsets import load
from tests.support import mcp_agent
from tests.support.engine import Engine
from tests.support.processes import alive, inspect, wait_until

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
_SECONDS = 200.0
_SERVER = "lamplighter"


class ToolError(Exception):
    """A tool said no: `error` is the structured error where there is one, `text` what an agent is told, whichever way it reads
    it: toolsets of other servers write the structure into the text."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.text: str = result["content"][0]["text"]
        structured: dict[str, Any] = result.get("structuredContent") or {}
        self.error: dict[str, Any] = structured.get("error") or {}
        if self.text.startswith("{"):
            assert json.loads(self.text) == structured
            self.text = f"{self.error['code']}: {self.error['message']}. Next: {self.error['hint']}"
        super().__init__(self.text)

    @property
    def code(self) -> str:
        return str(self.error.get("code", ""))


class RpcError(Exception):
    """A request got a JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: int = error["code"]
        super().__init__(error["message"])


def text_result(result: dict[str, Any]) -> dict[str, Any]:
    """The text, where there is one, and the facts about it."""
    return told([part["text"] for part in result["content"]])


def told(parts: list[str]) -> dict[str, Any]:
    *text, facts = parts
    found: dict[str, Any] = {"text": "".join(text)}
    part: dict[str, Any] = found
    for line in facts.splitlines():
        name, _, value = line.strip().partition(": ")
        if not line.startswith(" "):
            part = found
        if name.endswith(":"):
            part = found[name[:-1]] = {}  # what is indented below is within it
        else:
            part[name] = _value(value)
    return found


def _value(word: str) -> Any:
    """A number, a truth or a word, as an outline has it."""
    try:
        return json.loads(word)
    except ValueError:
        return word


class McpClient:
    """`answer` is called with each request that the server makes, and gives the result for it."""

    def __init__(self, to_server: IO[bytes], from_server: IO[bytes], protocol: str = LEGACY) -> None:
        self.protocol = protocol
        self.notices: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self.answer: Any = None
        self.capabilities: dict[str, Any] = {}
        self._to_server = to_server
        self._from_server = from_server
        self._numbers = itertools.count(1)
        self._answers: dict[Any, queue.Queue[dict[str, Any] | None]] = {}
        self._called: dict[int, str] = {}
        self._schemas: dict[str, dict[str, Any] | None] = {}
        self._gone = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # -- talking

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        self.capabilities = capabilities
        if self.protocol == MODERN:
            return self._met(self.request("server/discover", {}))
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": self.protocol, "capabilities": capabilities, "clientInfo": info}
        found = self.request("initialize", params)
        self.notify("notifications/initialized", {})
        return self._met(found)

    def _met(self, greeting: dict[str, Any]) -> dict[str, Any]:
        """From now on what its tools return is checked. What they list of themselves is checked elsewhere."""
        server = greeting.get("serverInfo") or greeting["_meta"]["io.modelcontextprotocol/serverInfo"]
        _, ours, toolset = str(server["name"]).partition(_SERVER)
        if ours:
            self._schemas = {tool.name: tool.output_schema for tool in load(toolset[1:] or "core").tools}
        return greeting

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result, of a tool whose result is a text that text and the facts about it; ToolError when the tool
        says no."""
        result = self.raw(tool, arguments)
        if result.get("isError"):
            raise ToolError(result)
        return result["structuredContent"] if "structuredContent" in result else text_result(result)

    def raw(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments, **more})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.result(self.begin(method, params))

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """Send a request; its number."""
        number = next(self._numbers)
        self._answers[number] = queue.Queue()
        if method == "tools/call":
            self._called[number] = str(params.get("name"))
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": self._enveloped(params)})
        return number

    def result(self, number: int, seconds: float = _SECONDS) -> dict[str, Any]:
        """Its result, once it comes."""
        message = self._answers[number].get(timeout=seconds)
        if message is None:
            raise ConnectionError("the server went away")
        del self._answers[number]
        if "error" in message:
            raise RpcError(message["error"])
        if number in self._called:
            self._check(self._called.pop(number), message["result"])
        return message["result"]

    def _check(self, tool: str, result: dict[str, Any]) -> None:
        """As both SDKs do: a tool with an output schema returns a structure that fits it; one that fails may return none."""
        schema = self._schemas.get(tool)
        if schema is None or result.get("resultType", "complete") != "complete":
            return
        structure = result.get("structuredContent")
        if structure is not None or not result.get("isError"):
            jsonschema.validate(structure, schema)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: dict[str, Any]) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        self._to_server.write(data)
        self._to_server.flush()

    def noticed(self, method: str) -> list[dict[str, Any]]:
        return [notice["params"] for notice in list(self.notices) if notice["method"] == method]

    def _enveloped(self, params: dict[str, Any]) -> dict[str, Any]:
        """A request of 2026-07-28 says of itself what older ones said once."""
        if self.protocol != MODERN:
            return params
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": MODERN,
            f"{prefix}clientInfo": {"name": "test", "version": "1"},
            f"{prefix}clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            for line in self._from_server:
                self._take(json.loads(line))
        self._gone = True
        for waiting in list(self._answers.values()):
            waiting.put(None)

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            waiting = self._answers.get(message.get("id"))
            if waiting is not None:
                waiting.put(message)
        elif "id" not in message:
            self.notices.append(message)
        else:
            self.questions.append(message)
            if self.answer is not None:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.answer(message)})

    def close(self) -> None:
        for file in (self._to_server, self._from_server):
            with suppress(OSError):
                file.close()


@contextmanager
def outside(
    engine: Engine, tools: str = "core", protocol: str = LEGACY, folder: Path | None = None, **capabilities: Any
) -> Generator[tuple[McpClient, subprocess.Popen[bytes]]]:
    """A client in no session, in a folder of its own if need be, and its bridge, which must be gone at the end."""
    command = bridge_command(tools)
    environment = _outside_any_agent(engine.environment)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder
    ) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        client = McpClient(bridge.stdin, bridge.stdout, protocol)
        try:
            client.initialize(**capabilities)
            yield client, bridge
        finally:
            with suppress(OSError):
                bridge.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                bridge.wait(200)
            bridge.kill()
            client.close()


def bridge_command(tools: str = "core") -> list[str]:
    return [sys.executable, "-m", "lamplighter.frontends.cli.main", "mcp", "--tools", tools]


def _outside_any_agent(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(("CLAUDE", "CODEX", "GEMINI"))}


@contextmanager
def connected(path: str, protocol: str = LEGACY, **capabilities: Any) -> Generator[McpClient]:
    """A client of a bridge that the agent at this socket starts."""
    with socket.socket(socket.AF_UNIX) as sock:
        # The path is there before anybody listens at it.
        assert wait_until(lambda: sock.connect_ex(path) == 0), path
        client = McpClient(sock.makefile("wb"), sock.makefile("rb"), protocol)
        try:
            client.initialize(**capabilities)
            yield client
        finally:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            client.close()


class Inhabitant:
    """An agent in a session of its own, whose MCP clients the test drives."""

    def __init__(self, engine: Engine, **arguments: Any) -> None:
        self.engine = engine
        self.path = f"{engine.folder}/agent-{os.urandom(4).hex()}"
        bridge = arguments.pop("bridge", None) or bridge_command(arguments.pop("tools", "core"))
        command = (sys.executable, mcp_agent.__file__, self.path, *bridge)
        environment = {"PATH": os.environ["PATH"], "LAMPLIGHTER_HOME": str(engine.folder)}
        given = {"environment": environment, "headless": True, **arguments}
        self.session: str = engine.start(*command, **given)["id"]
        engine.call("wait_session", session=self.session, until="text=ready", since=0, timeout="120s")
        self._open = ExitStack()

    def client(self, protocol: str = LEGACY, **capabilities: Any) -> McpClient:
        """A client whose bridge is this agent's child."""
        return self._open.enter_context(connected(self.path, protocol, **capabilities))

    def close(self) -> None:
        self._open.close()


@contextmanager
def inhabitant(engine: Engine, **arguments: Any) -> Generator[Inhabitant]:
    made = Inhabitant(engine, **arguments)
    try:
        yield made
    finally:
        made.close()


def is_gone(process: subprocess.Popen[bytes]) -> bool:
    """Whether a bridge has left, soon."""
    found = inspect(process.pid)
    return found is None or wait_until(lambda: process.poll() is not None or not alive(found.pid, found.start_ticks))
