"""The daemon as the command line sees it: a request, items on the way, a result or an error.

When the connection breaks before the answer (the daemon was killed, or upgraded), the same request goes out again with
the same key, to a daemon that is started if need be, so that nobody notices. Knows JSON lines; knows no operation.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from lamplighter.domain.call_key import new_key as new_key  # for whoever asks
from lamplighter.errors import Code, InputError, LampError, UnavailableError
from lamplighter.home import Home

PATIENCE = 30.0
_LONGEST_LINE = 16 << 20
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

Document = dict[str, Any]


class _BrokenError(Exception):
    """The connection ended before the answer."""


class DaemonClient:
    """`start`: a daemon may be started. `patience`: how long to try again after a break. `limit`: for a whole call."""

    def __init__(
        self, home: Home, *, start: bool = True, patience: float = PATIENCE, limit: float | None = None
    ) -> None:
        self.home = home
        self.start = start
        self.patience = patience
        self.limit = limit
        self.tries = 0

    def call(
        self,
        operation: str,
        arguments: Document,
        key: str = "",
        *,
        each: Callable[[Document], None] | None = None,
        again: Callable[[Document], Document] | None = None,
    ) -> Document:
        """The result. `each` takes every item; `again` gives the arguments for going on after a break."""
        result, descriptors = self._call(operation, arguments, key, each, again)
        for descriptor in descriptors:
            os.close(descriptor)
        return result

    def call_for_socket(self, operation: str, arguments: Document) -> tuple[Document, socket.socket]:
        """The result, and the socket that was passed along with it."""
        result, descriptors = self._call(operation, arguments, "", None, None)
        if not descriptors:
            raise UnavailableError(
                Code.INTERNAL, f"{operation} came back without a connection to the session", "try again"
            )
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        return result, socket.socket(fileno=descriptors[0])

    def _call(
        self,
        operation: str,
        arguments: Document,
        key: str,
        each: Callable[[Document], None] | None,
        again: Callable[[Document], Document] | None,
    ) -> tuple[Document, list[int]]:
        until = None if self.limit is None else time.monotonic() + self.limit
        broken_at: float | None = None

        def passed(item: Document) -> None:
            nonlocal broken_at
            broken_at = None
            if each is not None:
                each(item)

        self.tries = 0
        while True:
            self.tries += 1
            try:
                connection = _Connection(self._connect(retry=broken_at is not None), until)
                try:
                    return connection.ask(_request(operation, arguments, key), passed)
                finally:
                    connection.close()
            except _BrokenError:
                broken_at = broken_at or time.monotonic()
                if time.monotonic() - broken_at >= self.patience or _is_past(until):
                    raise unreachable("the daemon went away before it answered") from None
            time.sleep(min(0.2, 0.02 * self.tries))  # the only wait: for a daemon that is coming up
            arguments = again(arguments) if again else arguments

    def _connect(self, *, retry: bool) -> socket.socket:
        from lamplighter.holder.boot import try_connect

        found = try_connect(self.home.run, self.home.state)
        if found is not None:
            return found
        if not self.start:
            if retry:
                raise _BrokenError
            raise unreachable("the daemon is not running", "lamp up starts it, and so does every command that needs it")
        try:
            return connect(self.home)
        except UnavailableError as error:
            if retry:
                raise _BrokenError from error
            raise


class _Connection:
    """One connection, for one request."""

    def __init__(self, sock: socket.socket, until: float | None) -> None:
        self._sock = sock
        self._until = until
        self._buffer = bytearray()
        self._descriptors: list[int] = []

    def ask(self, request: Document, each: Callable[[Document], None]) -> tuple[Document, list[int]]:
        self._send(json.dumps(request, separators=(",", ":")).encode() + b"\n")
        while True:
            answer = self._read()
            if "item" in answer:
                each(answer["item"])
            elif "error" in answer:
                raise LampError.from_document(answer["error"])
            elif "result" in answer:
                descriptors, self._descriptors = self._descriptors, []
                return answer["result"], descriptors

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._sock.close()

    def _send(self, line: bytes) -> None:
        if len(line) > _LONGEST_LINE:
            raise InputError(
                Code.BAD_INPUT, f"the request has {len(line)} bytes, {_LONGEST_LINE} at most", "ask for less at once"
            )
        try:
            self._limit()
            self._sock.sendall(line)
        except OSError as error:
            raise _BrokenError from error

    def _read(self) -> Document:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._receive()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            return json.loads(line)
        except ValueError as error:
            raise _BrokenError from error

    def _receive(self) -> None:
        try:
            self._limit()
            data, descriptors, _, _ = socket.recv_fds(self._sock, 1 << 18, 4, _CLOEXEC)
        except OSError as error:
            raise _BrokenError from error
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._descriptors += descriptors
        if not data:
            raise _BrokenError
        self._buffer += data

    def _limit(self) -> None:
        if self._until is not None:
            self._sock.settimeout(max(0.001, self._until - time.monotonic()))


def _request(operation: str, arguments: Document, key: str) -> Document:
    return {"id": 1, "op": operation, "args": arguments, **({"key": key} if key else {})}


def _is_past(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


def unreachable(message: str, hint: str = "lamp status shows whether it runs; then try again") -> UnavailableError:
    return UnavailableError(Code.DAEMON_UNREACHABLE, message, hint)


def connect(home: Home) -> socket.socket:
    """To the daemon, which is started if need be."""
    from lamplighter.holder.boot import BootError, connect_daemon

    make_folders(home)
    try:
        return connect_daemon(home.run, home.state)
    except BootError as error:
        raise unreachable(f"the daemon does not start: {error}", f"look into {home.state}") from None


def make_folders(home: Home) -> None:
    """The state's folders, before anything is started in them."""
    try:
        home.make()
    except OSError as error:
        raise InputError(
            Code.BAD_INPUT,
            f"the state folder cannot be made: {error.strerror}: {error.filename}",
            "set LAMPLIGHTER_HOME to a folder that you can write to",
        ) from None


# -- whether there is one


def is_running(home: Home) -> bool:
    """Whether there is a daemon. Starts none."""
    from lamplighter.holder.boot import connect_any

    found = connect_any(home.run, home.state)
    if found is not None:
        found.close()
    return found is not None


def may_have_sessions(home: Home) -> bool:
    """Without a daemon, `down --all` must not look as if it had ended what runs: then one is started to end it."""
    from lamplighter.holder.places import runs

    for run in runs(home.run, home.state):
        try:
            if os.listdir(f"{run}/s"):
                return True
        except OSError:
            continue
    return _has_shims(home)


def _has_shims(home: Home) -> bool:
    """Whether a shim of this home lives, whose socket was taken away."""
    from lamplighter.holder import proc

    found = (stat for stat in proc.scan().values() if stat.name == b"lamp-shim")
    return any(home.state in proc.words_of(stat.pid) for stat in found)
