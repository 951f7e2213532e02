"""A model of a test's own on loopback: it has a real agent call one tool once, and then says that it is done. For tests only.

Speaks as much of three APIs as the agents of these tests need: Anthropic's Messages, OpenAI's Responses, Gemini's
generateContent. It is the agents' proxy too, and lets nothing through: what they would ask the rest of the world for is
refused at once, and counted. Knows nothing of Lamplighter.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Hold = Literal["call", "result"]
Events = list[tuple[str, dict[str, Any]]]


class Model:
    """`tool` is called once, with `arguments`. With `hold` the model thinks, until it is released, before it calls the tool
    (call) or about what came back (result)."""

    def __init__(self, tool: str, arguments: dict[str, Any], *, hold: Hold | None = None) -> None:
        self.tool = tool
        self.arguments = arguments
        self.answered = threading.Event()
        """Set when the tool's result has come back."""
        self.result = ""
        self.offered: set[str] = set()
        self.refused: list[str] = []
        self.ready = threading.Event()
        """Set when the tool is offered: the agent has met its server."""
        self.released = threading.Event()
        self._hold = hold
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def offer(self, names: Iterator[str]) -> str | None:
        """Which of the tools that an agent offers is ours; agents put the server's name before it, each in its own way."""
        named = set(names)
        self.offered |= named
        return next((name for name in sorted(named) if name.endswith(self.tool)), None)

    def think(self) -> None:
        """Before the tool is called."""
        self.ready.set()
        if self._hold == "call":
            self.released.wait()

    def hear(self, result: Any) -> None:
        self.result = result if isinstance(result, str) else json.dumps(result)
        self.answered.set()
        if self._hold == "result":
            self.released.wait()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def model(tool: str, arguments: dict[str, Any], *, hold: Hold | None = None) -> Generator[Model]:
    made = Model(tool, arguments, hold=hold)
    try:
        yield made
    finally:
        made.close()


def _handler(model: Model) -> type[_Handler]:
    class Bound(_Handler):
        pass

    Bound.model = model
    return Bound


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self._body() or b"{}")
        if "/v1/messages" in self.path and "count_tokens" not in self.path:
            self._anthropic(body)
        elif self.path.startswith("/v1/responses"):
            self._stream(_responses(self.model, body))
        elif "enerateContent" in self.path:
            self._gemini(_generate(self.model, body))
        else:
            self._document({"input_tokens": 1, "totalTokens": 1})

    def do_GET(self) -> None:
        if self.path.startswith("http"):
            self._refuse()
        else:
            self._document({"data": [], "models": []})

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_CONNECT(self) -> None:
        self._refuse()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _anthropic(self, body: dict[str, Any]) -> None:
        message = _message(self.model, body)
        if body.get("stream"):
            self._stream(_message_events(message))
        else:
            self._document(message)

    def _gemini(self, answer: dict[str, Any]) -> None:
        if "stream" in self.path:
            self._send(f"data: {json.dumps(answer)}\r\n\r\n".encode(), "text/event-stream")
        else:
            self._document(answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _refuse(self) -> None:
        self.model.refused.append(self.path)
        self.send_error(403, "these tests stay on this machine")
        self.close_connection = True

    def _document(self, document: dict[str, Any]) -> None:
        self._send(json.dumps(document).encode(), "application/json")

    def _stream(self, events: Events) -> None:
        lines = [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events]
        self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, content: bytes, kind: str) -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the agent was killed while we were thinking


# -- Anthropic

_WAITING = "WaitForMcpServers"


def _message(model: Model, body: dict[str, Any]) -> dict[str, Any]:
    parts = [part for said in body["messages"] if isinstance(said["content"], list) for part in said["content"]]
    results = {part["tool_use_id"]: part.get("content") for part in parts if part["type"] == "tool_result"}
    offered = [tool["name"] for tool in body.get("tools", [])]
    name = model.offer(iter(offered))
    block: dict[str, Any] = {"type": "text", "text": "done"}
    if "toolu_1" in results:
        model.hear(results["toolu_1"])
    elif name:
        model.think()
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": model.arguments}
    elif _WAITING in offered and not results:  # on a busy machine it asks the model before its servers are there
        block = {"type": "tool_use", "id": "toolu_0", "name": _WAITING, "input": {}}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _message_events(message: dict[str, Any]) -> Events:
    block: dict[str, Any] = message["content"][0]
    empty: dict[str, Any]
    if block["type"] == "tool_use":
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ending, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]


# -- OpenAI


def _responses(model: Model, body: dict[str, Any]) -> Events:
    result = next((item for item in body["input"] if item.get("type") == "function_call_output"), None)
    name = model.offer(_function_names(body.get("tools", [])))
    if result is not None:
        model.hear(result["output"])
    item: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "done"}],
    }
    if name and result is None:
        model.think()
        space, _, own = name.rpartition(" ")
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": own}
        item |= {"arguments": json.dumps(model.arguments)} | ({"namespace": space} if space else {})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        ("response.created", {"response": {"id": "resp_1"}}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": {"id": "resp_1", "usage": usage}}),
    ]


def _function_names(tools: list[dict[str, Any]]) -> Iterator[str]:
    """A tool in a namespace has that before it, and a blank."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (f"{tool['name']} {inner['name']}" for inner in tool["tools"])
        elif "name" in tool:
            yield tool["name"]


# -- Gemini


def _generate(model: Model, body: dict[str, Any]) -> dict[str, Any]:
    parts = [part for said in body["contents"] for part in said.get("parts", [])]
    result = next((part["functionResponse"] for part in parts if "functionResponse" in part), None)
    declared = (one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", []))
    name = model.offer(one["name"] for one in declared)
    if result is not None:
        model.hear(result["response"])
    part: dict[str, Any] = {"text": "done"}
    if name and result is None:
        model.think()
        part = {"functionCall": {"name": name, "args": model.arguments}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
