"""A Lamplighter to measure: a daemon of its own, a warm connection to it, and the processes that it is made of.

Speaks the front door's lines of JSON; knows nothing of what is measured.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.accounts import cpu_of, cpu_of_all
from lamplighter.errors import LampError
from tests.support.engine import Engine, engine

COMMAND = ("cat", "-")
_AT_ONCE = 4
_REST_SECONDS = 0.1


class Warm:
    """One connection that stays open. Requests may overlap; answers are told apart by their number."""

    def __init__(self, made: Engine) -> None:
        self._socket = made.connect()
        self._file = self._socket.makefile("rb")
        self._last = 0

    def ask(self, operation: str, **arguments: Any) -> int:
        self._last += 1
        request = {"id": self._last, "op": operation, "args": arguments, "key": uuid.uuid4().hex}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        return self._last

    def line(self) -> bytes:
        """The next answer as it comes; for those who time the daemon and not our reading of it."""
        found = self._file.readline()
        if not found:
            raise ConnectionError("the daemon went away")
        return found

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line())
        if "error" in found:
            raise LampError.from_document(found["error"])
        return found

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        number = self.ask(operation, **arguments)
        while True:
            message = self.message()
            if message["id"] == number and "result" in message:
                return message["result"]

    def call_all(self, operation: str, each: Sequence[dict[str, Any]], at_once: int) -> list[dict[str, Any]]:
        """Many calls of one operation, a few of them under way at a time; the results in the order they were asked."""
        results: dict[int, dict[str, Any]] = {}
        waiting = list(reversed(each))
        numbers = [self.ask(operation, **waiting.pop()) for _ in range(min(at_once, len(waiting)))]
        while len(results) < len(each):
            message = self.message()
            results[message["id"]] = message["result"]
            if waiting:
                numbers.append(self.ask(operation, **waiting.pop()))
        return [results[number] for number in numbers]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Lamps:
    """An engine with a warm connection and the sessions that were started over it."""

    def __init__(self, made: Engine) -> None:
        self.engine = made
        self.warm = Warm(made)
        self.sessions: list[dict[str, Any]] = []

    def start(self, *command: str) -> dict[str, Any]:
        started = self.warm.call("start_session", **self._wish(command or COMMAND))
        self.sessions.append(started)
        return started

    def start_many(self, number: int, *command: str) -> None:
        self.start_each([command or COMMAND] * number)

    def start_each(self, commands: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        started = self.warm.call_all("start_session", [self._wish(command) for command in commands], _AT_ONCE)
        self.sessions += started
        return started

    def _wish(self, command: Sequence[str]) -> dict[str, Any]:
        return {"command": list(command), "cwd": "/", "environment": {"PATH": os.environ["PATH"]}}

    # -- its processes

    def daemon(self) -> int:
        return self.engine.daemon()[0]

    def keeper(self) -> int:
        return self.engine.keeper()[0]

    def shims(self) -> list[int]:
        return [self.engine.shim(session["id"])[0] for session in self.sessions]

    def holders_cpu(self) -> float:
        """What holding the sessions has cost so far, without the sessions' own commands."""
        # A shim's dead children are the session's, not ours; the keeper's are, and so its account includes them.
        return cpu_of_all([self.daemon(), self.keeper()]) + sum(cpu_of(pid) for pid in self.shims())

    def cpu(self) -> float:
        """All that the starts made run: holders, and the commands from their fork on."""
        return self.holders_cpu() + sum(cpu_of(session["pid"]) for session in self.sessions)

    def rest(self) -> None:
        """Until the daemon has done what it does on its own after a session printed or ended."""
        used = -1.0
        while used != (used := cpu_of(self.daemon())):
            time.sleep(_REST_SECONDS)

    def close(self) -> None:
        self.warm.close()


@contextmanager
def lamps(**environment: str) -> Generator[Lamps]:
    """One that is warm: its first session has come and is counted by nobody."""
    with engine(**environment) as made:
        found = Lamps(made)
        try:
            first = found.start(*COMMAND)
            found.warm.call("kill_session", session=first["id"], force=True, grace="0s")
            found.sessions.clear()
            yield found
        finally:
            found.close()
