"""Daemons of agents that several conversations share: who may be served by one, and how one conversation is stopped in it.

Data alone. The agent's own program does what is to be done: none of
its keys is read, and no protocol of its is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from lamplighter.agents import every_agent
from lamplighter.lazy_dataclass import dataclass


def _nothing(conversation: str) -> tuple[tuple[str, ...], ...]:
    del conversation
    return ()


@dataclass(frozen=True)
class SharedDaemon:
    """`is_server`: whether a command line is the daemon's; `may_use`: whether one that was started so may be served by it.
    `stop` gives the words, behind the program, that end what a conversation runs there, one command after the other; `undo`
    those that are needed after it, so that the conversation can be gone on with. `words`: what is on the command line of one that
    the agent starts by itself, and that serves over a unix socket."""

    agent: str
    is_server: Callable[[Sequence[str]], bool]
    may_use: Callable[[Sequence[str]], bool]
    stop: Callable[[str], tuple[tuple[str, ...], ...]]
    undo: Callable[[str], tuple[tuple[str, ...], ...]] = _nothing
    words: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def servers() -> tuple[tuple[str, ...], ...]:
    """What the command lines of those have that agents start by themselves, and serve over a unix socket."""
    shared = (agent.shared_daemon for agent in every_agent())
    return tuple(one.words for one in shared if one and one.words)
