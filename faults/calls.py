"""Calls as a patient client makes them: the same key again when the daemon goes away, up to a limit."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
import uuid
from typing import Any

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine, answer, send

PATIENCE = 60.0
_PASSING = (Code.STORE_BUSY, Code.HOLDER_UNREACHABLE, Code.DAEMON_UNREACHABLE)
_PAUSE = 0.1


class UnansweredError(Exception):
    """Neither a result nor an error came in time."""


class Calls:
    def __init__(self, engine: Engine, patience: float = PATIENCE) -> None:
        self.engine = engine
        self.patience = patience
        self._starting = threading.Lock()

    def ask(
        self, operation: str, *, key: str | None = None, patience: float | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """The result; LampError when it is refused; UnansweredError."""
        key = key or uuid.uuid4().hex
        began = time.monotonic()
        end = began + (self.patience if patience is None else patience)
        why = ""
        while time.monotonic() < end:
            try:
                return self._once(operation, key, arguments, end)
            except LampError as error:
                if error.code not in _PASSING or time.monotonic() + _PAUSE >= end:
                    raise
                why = error.message
            except (OSError, subprocess.TimeoutExpired) as error:
                why = str(error)
            time.sleep(_PAUSE)
        raise UnansweredError(
            f"{operation} of {arguments.get('session', '')}: no answer in {time.monotonic() - began:.0f} s: {why}"
        )

    def _once(self, operation: str, key: str, arguments: dict[str, Any], end: float) -> dict[str, Any]:
        with self._connect(end) as sock:
            sock.settimeout(max(0.1, end - time.monotonic()))
            send(sock, operation, key, arguments)
            return answer(sock)

    def _connect(self, end: float) -> socket.socket:
        for started in (False, True):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(max(0.1, end - time.monotonic()))
            try:
                sock.connect(self.engine.home.daemon_socket)
                return sock
            except OSError:
                sock.close()
                if started:
                    raise
            with self._starting:
                self.engine.cli("up", timeout=max(0.1, end - time.monotonic()))
        raise AssertionError("a second try either connects or fails")
