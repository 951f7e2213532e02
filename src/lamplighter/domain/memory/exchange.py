"""How far the talk with an agent over ACP has come: all that a daemon must know to go on with it after a crash.

A value that is stored whole with every step. Knows no protocol, no file and no store.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, field, fields
from enum import StrEnum
from typing import Any

from lamplighter.lazy_dataclass import dataclass

_KEYS = 256


class Phase(StrEnum):
    """Where the talk is. `settling`: an older conversation was opened, and what was said in it may come yet. `refused`: the agent
    would not begin; `closed`: it was told that there is no more to come."""

    NEW = "new"
    GREETING = "greeting"
    LOGIN = "login"
    OPENING = "opening"
    SETTLING = "settling"
    READY = "ready"
    CLOSED = "closed"
    REFUSED = "refused"


def _texts() -> dict[str, Any]:
    return {}


def _list() -> list[dict[str, Any]]:
    return []


@dataclass
class Exchange:
    """`cursor`: the output is taken in up to here. `size`: of the conversation's file, which counts no further. `calls` are our
    own requests without an answer, by number; `outbox` what is to be written to the agent, each with the key that makes it
    happen once; `queue` the prompts that wait; `asked` the agent's requests for permission, by their number as JSON.
    `once`: it is told to leave when its prompts are answered; `trusting`: what it asks for is granted; `model`: the one that is
    to be chosen before the first prompt; `loaded`: what was said before comes with its conversation."""

    cwd: str = "/"
    wanted: str | None = None
    logins: list[str] = field(default_factory=list[str])
    phase: Phase = Phase.NEW
    cursor: int = 0
    size: int = 0
    number: int = 0
    sent: int = 0
    conversation: str | None = None
    abilities: dict[str, Any] = field(default_factory=_texts)
    calls: dict[str, str] = field(default_factory=_texts)
    outbox: list[dict[str, Any]] = field(default_factory=_list)
    queue: list[dict[str, Any]] = field(default_factory=_list)
    turn: dict[str, Any] | None = None
    asked: dict[str, dict[str, Any]] = field(default_factory=_texts)
    taken: dict[str, int] = field(default_factory=_texts)
    turns: int = 0
    last: dict[str, Any] = field(default_factory=_texts)
    stopped: str | None = None
    refused: str | None = None
    once: bool = False
    trusting: bool = False
    model: str | None = None
    loaded: bool = False

    @property
    def done(self) -> bool:
        """There is nothing more to come of one that is there for its first prompt alone."""
        over = self.phase in (Phase.REFUSED, Phase.CLOSED) or (self.phase is Phase.READY and self.turns > 0)
        return self.once and over and not self.busy and not self.outbox

    @property
    def busy(self) -> bool:
        """A turn runs, or prompts wait for one."""
        return self.turn is not None or bool(self.queue)

    def take_key(self, key: str) -> None:
        """A prompt of this key was taken; where the conversation stood then is what a repetition is told."""
        self.taken[key] = self.size
        for old in list(self.taken)[:-_KEYS]:
            del self.taken[old]

    def copy(self) -> Exchange:
        return copy.deepcopy(self)

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Exchange:
        known = {each.name for each in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in document.items() if name in known}
        values["phase"] = Phase(values.get("phase", Phase.NEW))
        return cls(**values)


@dataclass(frozen=True)
class Talk:
    """How a talk is to begin. `resume`: an older conversation of the agent's, or `last`; `logins` are the ways in which it may be
    logged in to with what its environment has. `heeds_eof`: it leaves when its input ends. `once`: it is
    to leave when it has answered; `trusting`: whatever it asks for is granted, for whoever said so before. `model`: not the one
    of its own settings."""

    resume: str | None = None
    prompt: str | None = None
    logins: tuple[str, ...] = ()
    heeds_eof: bool = True
    once: bool = False
    trusting: bool = False
    model: str | None = None

    def exchange(self, cwd: str, owner: str, key: str, handed: str | None) -> Exchange:
        """Before its first word. What was handed over comes before the prompt, as one."""
        begun = Exchange(cwd=cwd, wanted=self.resume, logins=list(self.logins))
        begun.once, begun.trusting, begun.model = self.once, self.trusting, self.model
        text = "\n\n".join(part for part in (handed, self.prompt) if part)
        if text:
            begun.take_key(key)
            begun.queue.append({"key": key, "text": text, "by": owner})
        return begun
