"""`lamp mcp`: what agents start. Carries MCP messages between standard input and output and the one daemon.

When the daemon is killed or upgraded it connects again, says again what the protocol needs (initialize, subscriptions), and sends
every call that has no answer yet once more under its key, so that none acts twice. It ends when its client does.

A line to the daemon is a key, a space and the message as it came; a line from it is a message. Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time

from lamplighter.domain.call_key import new_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WIRE = 1
LONGEST = 16 << 20
_READ = 1 << 16
_WRITE = 4096  # what a pipe that is ready takes without making us wait
_LAST_WORDS_SECONDS = 5.0
_HELLO_SECONDS = 60.0
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_REPLAY = "lamplighter-replay-"
UNAVAILABLE = -32000
_UNSURE = "the one before it may have carried this call out: look before you repeat it"


class BridgeRefused(Exception):
    """The daemon does not serve this bridge; the message says why."""


class Bridge:
    """`pending` are the client's requests without an answer, by id, `sent` those that a daemon may have had;
    `asked` the server's, by the id the client knows."""

    def __init__(self, run: str, state: str, tools: str) -> None:
        self.run_folder = run
        self.state = state
        self.tools = tools
        self.daemon: socket.socket | None = None
        self.pending: dict[str, tuple[str, bytes]] = {}
        self.sent: set[str] = set()
        self.subscriptions: dict[str, bytes] = {}
        self.asked: dict[str, Any] = {}
        self.acknowledged: set[str] = set()
        self.initialize: bytes | None = None
        self.initialized: bytes | None = None
        self.generation = 0
        self.replays = 0
        self._from_client = bytearray()
        self._skipping = 0
        self._from_daemon = bytearray()
        self._to_client = bytearray()
        self._to_daemon = bytearray()
        self._closing_at: float | None = None
        self._retry_at: float | None = None
        self._retries = 0

    # -- the loop

    def run(self) -> int:
        self._connect()
        parent = _open_parent()
        while not self._is_done():
            poll = select.poll()
            for descriptor, events in self._interests(parent).items():
                poll.register(descriptor, events)
            for descriptor, event in poll.poll(self._patience()):
                if descriptor == parent:
                    return 0
                self._serve(descriptor, event)
            self._retry()
        return 0

    def _is_done(self) -> bool:
        """The client has left, and has its answers or can have none."""
        if self._closing_at is None:
            return False
        return time.monotonic() >= self._closing_at or (not self.pending and not self._to_client)

    def _interests(self, parent: int | None) -> dict[int, int]:
        wanted: dict[int, int] = {} if parent is None else {parent: select.POLLIN}
        if self._closing_at is None:
            wanted[0] = select.POLLIN
        wanted[1] = select.POLLOUT if self._to_client else 0
        if self.daemon is not None:
            wanted[self.daemon.fileno()] = select.POLLIN | (select.POLLOUT if self._to_daemon else 0)
        return wanted

    def _patience(self) -> int | None:
        times = [at for at in (self._closing_at, self._retry_at) if at is not None]
        return None if not times else max(0, int((min(times) - time.monotonic()) * 1000) + 1)

    def _serve(self, descriptor: int, event: int) -> None:
        if descriptor == 1:
            if event & (select.POLLERR | select.POLLNVAL | select.POLLHUP):
                self._closing_at = 0.0  # nobody reads any more
            elif event & select.POLLOUT:
                del self._to_client[: os.write(1, self._to_client[:_WRITE])]
        elif descriptor == 0:
            self._read_client()
        elif self.daemon is not None and descriptor == self.daemon.fileno():
            self._serve_daemon(event)

    # -- the client's side

    def _read_client(self) -> None:
        data = os.read(0, _READ)
        if not data:
            self._closing_at = self._closing_at or time.monotonic() + _LAST_WORDS_SECONDS
            return
        searched = len(self._from_client)  # a long line comes in many pieces, and each is looked through once
        self._from_client += data
        while (end := self._from_client.find(b"\n", searched)) >= 0:
            searched = 0
            line = bytes(self._from_client[:end]).strip()
            del self._from_client[: end + 1]
            skipped, self._skipping = self._skipping, 0
            if skipped or len(line) > LONGEST:
                self._refuse_length(skipped + len(line), line if not skipped else b"")
            elif line:
                self._take(line)
        if len(self._from_client) > 4 * LONGEST:
            self._skipping += len(self._from_client)  # nobody needs that; only where it ends
            self._from_client.clear()

    def _take(self, line: bytes) -> None:
        message = _read(line)
        if message is None:
            self._answer(None, -32700, "a message is one JSON object on a line, and this is none")
            return
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._take_reply(message)
            return
        if "id" not in message:
            self._take_notice(method, message, line)
            return
        if type(number) not in (str, int):
            # The server would take it for a notification, and whoever asked would wait for ever.
            self._answer(None, -32600, "the id of a request is a string or a whole number; it was not carried out")
            return
        if _name(number) in self.pending:
            self._answer(
                None, -32600, "another request with this id waits for its answer; this one was not carried out"
            )
            return
        if method == "initialize":
            self.initialize, self.initialized = line, None
        elif method == "resources/subscribe":
            self.subscriptions[_uri(message)] = line
        elif method == "resources/unsubscribe":
            self.subscriptions.pop(_uri(message), None)
        key = new_key()
        self.pending[_name(number)] = (key, line)
        self._forward(key, line, sent=_name(number))

    def _take_notice(self, method: str, message: dict[str, Any], line: bytes) -> None:
        if method == "notifications/initialized":
            self.initialized = line
        elif method == "notifications/cancelled":
            self._forget(_params(message).get("requestId"))
            if self.daemon is None:
                return  # what it would stop is not there any more
        self._forward("-", line)

    def _take_reply(self, message: dict[str, Any]) -> None:
        """An answer to the server's own question: only to the daemon that asked, under the number that it gave."""
        original = self.asked.pop(_name(message.get("id")), None)
        if original is not None and self.daemon is not None:
            message["id"] = original
            self._forward("-", json.dumps(message, separators=(",", ":")).encode())

    def _refuse_length(self, size: int, line: bytes) -> None:
        number = (_read(line) or {}).get("id")
        if self.daemon is not None:
            self._to_daemon += b"! " + json.dumps({"refused": "too long", "size": size}).encode() + b"\n"
        self._answer(
            number,
            -32600,
            f"BAD_INPUT: a message is at most {LONGEST >> 20} MiB long, and this one is {size} bytes; it was not carried out",
        )

    def _answer(self, number: Any, code: int, text: str) -> None:
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
        self._to_client += json.dumps(error).encode() + b"\n"

    # -- the daemon's side

    def _forward(self, key: str, line: bytes, sent: str | None = None) -> None:
        if self.daemon is None:
            self._connect()  # sends all that is pending, this one too
            if sent is not None or self.daemon is None:
                return
        if sent is not None:
            self.sent.add(sent)
        self._to_daemon += key.encode() + b" " + line + b"\n"

    def _serve_daemon(self, event: int) -> None:
        assert self.daemon is not None
        try:
            if event & select.POLLOUT and self._to_daemon:
                del self._to_daemon[: self.daemon.send(self._to_daemon, socket.MSG_DONTWAIT)]
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self.daemon.recv(_READ, socket.MSG_DONTWAIT)
                if not data:
                    raise ConnectionResetError
                self._from_daemon += data
        except BlockingIOError:
            return
        except OSError:
            self._lose()
            return
        while (end := self._from_daemon.find(b"\n")) >= 0:
            line = bytes(self._from_daemon[:end])
            del self._from_daemon[: end + 1]
            self._pass_on(line)

    def _pass_on(self, line: bytes) -> None:
        message = json.loads(line)
        number = message.get("id")
        if "method" in message:
            if self._is_said_again(message):
                return
            if number is not None:
                # A number of its own for each daemon: an old answer must never be taken for one to a new question.
                known = f"{self.generation}.{number}"
                self.asked[_name(known)] = number
                message["id"] = known
                line = json.dumps(message, separators=(",", ":")).encode()
        elif type(number) is str and number.startswith(_REPLAY):
            return
        else:
            self._forget(number)
        self._to_client += line + b"\n"

    def _forget(self, number: Any) -> None:
        self.pending.pop(_name(number), None)
        self.sent.discard(_name(number))

    def _is_said_again(self, message: dict[str, Any]) -> bool:
        """A listen stream that begins anew with another daemon: its client knows that it is heard, and what it may have missed is
        said instead."""
        if message["method"] != "notifications/subscriptions/acknowledged":
            return False
        params = _params(message)
        stream = json.dumps(params.get("_meta"), sort_keys=True)
        if stream not in self.acknowledged:
            self.acknowledged.add(stream)
            return False
        heard: dict[str, Any] = params.get("notifications") or {}
        for uri in heard.get("resourceSubscriptions") or ():
            self._tell_changed({"uri": uri, "_meta": params.get("_meta")})
        return True

    def _tell_changed(self, params: dict[str, Any]) -> None:
        notice = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}
        self._to_client += json.dumps(notice, separators=(",", ":")).encode() + b"\n"

    def _lose(self) -> None:
        assert self.daemon is not None
        self.daemon.close()
        self.daemon = None
        self._from_daemon.clear()
        self._to_daemon.clear()
        self.asked.clear()
        if self.pending:
            self._connect()
        elif self.subscriptions:
            self._retries, self._retry_at = 0, time.monotonic() + _PAUSES[0]

    def _retry(self) -> None:
        """For subscriptions alone no daemon is started: whoever stopped it meant to."""
        if self._retry_at is None or time.monotonic() < self._retry_at:
            return
        from lamplighter.holder.boot import try_connect

        sock = try_connect(self.run_folder, self.state)
        if sock is not None:
            self._retry_at = None
            self._greet(sock)
            return
        self._retries += 1
        self._retry_at = time.monotonic() + _PAUSES[self._retries] if self._retries < len(_PAUSES) else None

    def _connect(self) -> None:
        """To the daemon, started if need be. Without one, what waits for an answer gets one that says so."""
        from lamplighter.holder.boot import BootError, connect_daemon

        deadline, failed, problem = time.monotonic() + _HELLO_SECONDS, 0, "it goes away again and again"
        # A second time: the first one may have been killed as it started, which says nothing of the next.
        while time.monotonic() < deadline and failed < 2:
            try:
                if self._greet(connect_daemon(self.run_folder, self.state)):
                    return
            except (BootError, OSError) as error:
                problem, failed = str(error), failed + 1
            time.sleep(_PAUSES[0])
        for name in list(self.pending):
            _, line = self.pending.pop(name)
            fate = _UNSURE if name in self.sent else "this call was not carried out"
            text = f"DAEMON_UNREACHABLE: Lamplighter's daemon cannot be reached: {problem}; {fate}. Next: lamp doctor says more"
            self._answer(json.loads(line)["id"], UNAVAILABLE, text)
        self.sent.clear()

    def _greet(self, sock: socket.socket) -> bool:
        """Say who we are, and all that the daemon must know to go on where the last one stopped."""
        hello = {"wire": WIRE, "tools": self.tools, "cwd": _folder(), "environment": dict(os.environ)}
        try:
            sock.settimeout(_HELLO_SECONDS)
            sock.sendall(json.dumps({"mcp": hello}).encode() + b"\n")
            with sock.makefile("rb") as file:
                answer = file.readline()
            if not answer:
                sock.close()
                return False
        except OSError:
            sock.close()
            return False
        said = json.loads(answer)
        if "error" in said:
            raise BridgeRefused(f"{said['error']['code']}: {said['error']['message']}; {said['error']['hint']}")
        self.daemon = sock
        self.generation += 1
        self._replay()
        return True

    def _replay(self) -> None:
        known = [line for _, line in self.pending.values()]
        if self.initialize is not None and self.initialize not in known:
            self._say_again(self.initialize)
            if self.initialized is not None:
                self._to_daemon += b"- " + self.initialized + b"\n"
        for uri, line in self.subscriptions.items():
            if line not in known:
                self._say_again(line)
                self._tell_changed({"uri": uri})  # perhaps it did, while nobody could say so
        self.sent = set(self.pending)
        for key, line in self.pending.values():
            self._to_daemon += key.encode() + b" " + line + b"\n"

    def _say_again(self, line: bytes) -> None:
        """A request whose answer the client has had already."""
        self.replays += 1
        message = json.loads(line)
        message["id"] = f"{_REPLAY}{self.replays}"
        self._to_daemon += b"- " + json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _name(number: Any) -> str:
    """An id as a key: 1 and "1" are two."""
    return json.dumps(number)


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        message: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if type(message) is dict else None


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = message.get("params") or {}
    return params if type(params) is dict else {}


def _uri(message: dict[str, Any]) -> str:
    return str(_params(message).get("uri"))


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _open_parent() -> int | None:
    """Readable once whoever started us is gone. Its pipes may live on in others that it started."""
    try:
        return os.pidfd_open(os.getppid())
    except OSError:
        return None


def main(run: str, state: str, tools: str) -> int:
    try:
        return Bridge(run, state, tools).run()
    except BridgeRefused as error:
        sys.stderr.write(f"lamp mcp: {error}\n")
        return 2
    except BrokenPipeError:
        return 0
