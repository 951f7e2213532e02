"""What a model can be told to do with a turn: say something, run the agent's shell, call a tool, hang, stream slowly.

A turn is what follows one message of the agent's user: tools are called one after the other, and a text ends it. Knows
nothing of any API.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


class Gate:
    """Where the model stands still until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()

    def release(self) -> None:
        self.released.set()

    def pass_through(self) -> None:
        self.reached.set()
        self.released.wait()


@dataclass(frozen=True)
class Say:
    """The turn is over with this."""

    text: str


@dataclass(frozen=True)
class Run:
    """The agent's own shell tool, whatever it is called there, with this command line."""

    command: str


@dataclass(frozen=True)
class Call:
    """A tool of a server. Agents put the server's name before it, each in its own way, so its end is looked for."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Hang:
    """No answer until the gate is released; then the next step, in the same answer."""

    gate: Gate


@dataclass(frozen=True)
class Stream:
    """Small pieces, one every `pause` seconds: `pieces` of them, or fewer when the gate is released. Ends the turn."""

    gate: Gate
    pieces: int = 10_000
    pause: float = 0.05


@dataclass(frozen=True)
class Fail:
    """Every request is refused with this HTTP status and text, as often as the agent asks. Ends the turn."""

    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = ()


Step = Say | Run | Call | Hang | Stream | Fail
Turn = Sequence[Step] | Step | str
Script = Sequence[Turn] | Callable[[str, int], Turn]
"""A turn for each message of the user as they come, or who decides: told the message, and which one it is (from 1)."""


def echo(said: str, number: int) -> Turn:
    """The script of a model that only repeats: whoever reads the reply knows what was submitted, and as which one."""
    return f"STUB-REPLY {number}: {said}"


def steps_of(turn: Turn) -> list[Step]:
    if isinstance(turn, str):
        return [Say(turn)]
    return [turn] if isinstance(turn, Say | Run | Call | Hang | Stream | Fail) else list(turn)


def gates_of(steps: Iterable[Step]) -> list[Gate]:
    return [step.gate for step in steps if isinstance(step, Hang | Stream)]
