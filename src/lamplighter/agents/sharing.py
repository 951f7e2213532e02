"""Daemons of agents that several conversations share: who may be served by one, and how one conversation is stopped in it.

Data alone; each agent's module has its own, which is imported on use. The agent's own program does what is to be done: none of
its keys is read, and no protocol of its is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

SHARING: dict[str, str] = {
    "claude": "lamplighter.agents.claude:SHARING",
    "codex": "lamplighter.agents.codex:SHARING",
    "opencode": "lamplighter.agents.opencode:SHARING",
}
SERVERS: tuple[tuple[str, ...], ...] = (("--managed-daemon", "--listen"), ("daemon", "run", "--origin"))
"""What the command lines of those have that agents start by themselves, and serve over a unix socket: Codex's and Claude's."""


def _nothing(conversation: str) -> tuple[tuple[str, ...], ...]:
    del conversation
    return ()


@dataclass(frozen=True, slots=True)
class Sharing:
    """`is_server`: whether a command line is the daemon's; `may_use`: whether one that was started so may be served by it.
    `stop` gives the words, behind the program, that end what a conversation runs there, one command after the other; `undo`
    those that are needed after it, so that the conversation can be gone on with."""

    agent: str
    is_server: Callable[[Sequence[str]], bool]
    may_use: Callable[[Sequence[str]], bool]
    stop: Callable[[str], tuple[tuple[str, ...], ...]]
    undo: Callable[[str], tuple[tuple[str, ...], ...]] = _nothing


@lru_cache(maxsize=16)
def sharing_of(agent: str) -> Sharing | None:
    where = SHARING.get(agent)
    if where is None:
        return None
    module, _, attribute = where.partition(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Sharing)
    return found
