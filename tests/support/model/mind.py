"""The model: what it makes of each request by its script, and what it remembers for the test.

Which step is next follows from the conversation that the agent sends along, not from how often it has asked: a request that
an agent repeats gets the same answer. Knows the steps; of the APIs and of HTTP only that something serves it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from tests.support.model.asked import Answer, Asked, Refusal, Use
from tests.support.model.door import Door
from tests.support.model.steps import (
    Call,
    Fail,
    Gate,
    Hang,
    Run,
    Say,
    Script,
    Step,
    Stream,
    echo,
    gates_of,
    steps_of,
)

_WAITING = "WaitForMcpServers"
"""Claude's own tool: on a busy machine it asks the model before its servers are there."""


class Model:
    """Follows `script`; what is said after the script's end is answered with `done`."""

    def __init__(self, script: Script = echo) -> None:
        self.script = script
        self.said: list[str] = []
        """Every message of the agent's user, in the order in which they first came; the same text twice when said twice."""
        self.results: dict[str, str] = {}
        """What tools gave back, by the call's id."""
        self.offered: set[str] = set()
        self.refused: list[str] = []
        self.asides = 0
        self.requests: list[tuple[str, dict[str, Any]]] = []
        """Path and body of everything that was asked, for whoever wants to look closer."""
        self._turns: dict[tuple[str, tuple[str, ...]], list[Step]] = {}
        self._gates: list[Gate] = []
        self._lock = threading.Lock()
        self._door = Door(self)
        self.url = self._door.url

    def count(self, text: str) -> int:
        """How many messages of the user have this in them."""
        return sum(text in said for said in self.said)

    def answer(self, asked: Asked) -> Answer | Refusal:
        with self._lock:
            self.offered |= set(asked.tools)
            self.asides += asked.aside
        if asked.aside:
            return iter(["done"])
        number, steps = self._turn(asked)
        self.heard(asked, number)
        if (use := self._met(asked, number, steps)) is not None:
            return use
        return self._perform(asked, number, steps)

    def heard(self, asked: Asked, number: int) -> None:
        with self._lock:
            for place, result in enumerate(asked.results):
                self.results.setdefault(f"call_{number}_{place}", result)

    def missing(self, tool: str) -> str:
        return f"no tool {tool} was offered"

    def close(self) -> None:
        with self._lock:
            gates = list(self._gates)
        for gate in gates:
            gate.release()
        self._door.close()

    def _turn(self, asked: Asked) -> tuple[int, list[Step]]:
        """Its number and its steps: decided when it is first heard of, and kept."""
        key = (asked.conversation, asked.said)
        with self._lock:
            if key not in self._turns:
                self.said.append(asked.said[-1])
                steps = self._told(asked.said[-1], len(self.said))
                self._gates += gates_of(steps)
                self._turns[key] = steps
            return list(self._turns).index(key) + 1, self._turns[key]

    def _told(self, said: str, number: int) -> list[Step]:
        if callable(self.script):
            return steps_of(self.script(said, number))
        return steps_of(self.script[number - 1]) if number <= len(self.script) else [Say("done")]

    def _met(self, asked: Asked, number: int, steps: list[Step]) -> Use | None:
        """Claude only: to wait for its servers, when the tool that will be called is not there yet."""
        wanted = next((step.tool for step in steps if isinstance(step, Call)), None)
        absent = wanted is not None and _named(asked, wanted) is None
        if absent and not asked.waited and _WAITING in asked.tools:
            return Use(f"wait_{number}", _WAITING, {})
        return None

    def _perform(self, asked: Asked, number: int, steps: list[Step]) -> Answer | Refusal:
        """The step after those whose results are there; what it hangs at first, it hangs at."""
        place = len(asked.results)
        acts = 0
        for step in steps:
            if isinstance(step, Hang):
                if acts == place:
                    step.gate.pass_through()
                continue
            if acts == place:
                return self._act(asked, f"call_{number}_{place}", step)
            acts += 1
        return iter(["done"])

    def _act(self, asked: Asked, call: str, step: Say | Run | Call | Stream | Fail) -> Answer | Refusal:
        if isinstance(step, Fail):
            return Refusal(step.status, step.text, step.headers)
        if isinstance(step, Say):
            return iter([step.text])
        if isinstance(step, Stream):
            return _trickle(step)
        if isinstance(step, Run):
            return _shell(asked, call, step.command) or iter([self.missing("that is a shell")])
        name = _named(asked, step.tool)
        return Use(call, name, step.arguments) if name else iter([self.missing(step.tool)])


def _trickle(step: Stream) -> Iterator[str]:
    step.gate.reached.set()
    for number in range(step.pieces):
        yield f"piece-{number} "
        if step.gate.released.wait(step.pause):
            return


def _named(asked: Asked, tool: str) -> str | None:
    return next((name for name in sorted(asked.tools) if name.endswith(tool)), None)


def _shell(asked: Asked, call: str, command: str) -> Use | None:
    """By the name of the tool, which no two agents share, and what it calls its arguments."""
    known: dict[str, dict[str, Any]] = {
        "Bash": {"command": command, "description": "as told"},
        "exec_command": {"cmd": command},
        "shell_command": {"command": command},
        "shell": {"command": ["bash", "-c", command]},
        "run_shell_command": {"command": command, "description": "as told"},
        "bash": {"command": command, "description": "as told"},
    }
    return next((Use(call, name, known[name]) for name in known if name in asked.tools), None)
