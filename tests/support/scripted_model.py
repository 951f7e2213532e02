"""A model that has a real agent call one tool once, and then says that it is done: the simplest script. For tests only."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

from tests.support.model import Call, Gate, Hang, Model, Say, Step
from tests.support.model.asked import Asked
from tests.support.model.steps import Script

Hold = Literal["call", "result"]


class OneCall(Model):
    """`tool` is called once, with `arguments`. With `hold` the model thinks, until it is released, before it calls the tool
    (call) or about what came back (result)."""

    def __init__(self, tool: str, arguments: dict[str, Any], *, hold: Hold | None = None) -> None:
        self.answered = threading.Event()
        """Set when the tool's result has come back."""
        self.result = ""
        before, after = Gate(), Gate()
        self.ready = before.reached
        """Set when the tool is about to be called: the agent has met its server."""
        self._held = before if hold == "call" else after
        for gate in {before, after} - ({self._held} if hold else set()):
            gate.release()
        steps: list[Step] = [Hang(before), Call(tool, arguments), Hang(after), Say("done")]
        super().__init__([steps])

    @property
    def released(self) -> threading.Event:
        return self._held.released

    def heard(self, asked: Asked, number: int) -> None:
        super().heard(asked, number)
        if asked.results:
            self.result = asked.results[0]
            self.answered.set()


@contextmanager
def model(tool: str, arguments: dict[str, Any], *, hold: Hold | None = None) -> Generator[OneCall]:
    made = OneCall(tool, arguments, hold=hold)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def scripted(script: Script) -> Generator[Model]:
    """A model that follows a script of turns."""
    made = Model(script)
    try:
        yield made
    finally:
        made.close()
