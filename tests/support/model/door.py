"""How a model is reached: HTTP on loopback, and as the agents' proxy, which lets nothing through.

Knows which path is which API, and how answers are sent while they are still being made; what they say is the model's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.support.model import anthropic, chat, gemini, responses
from tests.support.model.asked import Refusal

if TYPE_CHECKING:
    from tests.support.model.mind import Model


class Door:
    def __init__(self, model: Model) -> None:
        bound = type("Bound", (_Handler,), {"model": model})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self._body()
        try:
            body: dict[str, Any] = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        self.model.requests.append((self.path, body))
        api = self._api()
        if api is None:
            self._document({"input_tokens": 1, "totalTokens": 1})
            return
        answer = self.model.answer(api.read(body))
        if isinstance(answer, Refusal):
            self._send(json.dumps(api.error(answer)).encode(), "application/json", answer.status, answer.headers)
        elif body.get("stream") or "streamGenerate" in self.path:
            self._stream(api.events(body, answer))
        else:
            self._document(api.whole(body, answer))

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

    def _api(self) -> Any:
        if "/v1/messages" in self.path and "count_tokens" not in self.path:
            return anthropic
        if "/responses" in self.path:
            return responses
        if "/chat/completions" in self.path:
            return chat
        return gemini if "enerateContent" in self.path else None

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

    def _stream(self, events: Iterator[str]) -> None:
        """Each as it comes, in chunks: a slow text is seen slowly."""
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in events:
                content = event.encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True  # the agent was killed, or has had enough

    def _send(self, content: bytes, kind: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> None:
        try:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True
