"""The agent programs that Lamplighter knows: one module each in this folder, with all that is known of it in its AGENT.

A module is found by its name and imported on use; only what asks about every agent imports them all. Knows nothing of sessions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamplighter.agents.formats.agent import Agent
    from lamplighter.agents.formats.program import Program

GENERIC = "generic"
"""What a session is listed as when its program is none of these."""
_FIRST = ("claude", "codex", "gemini", "opencode")
"""Where agents are listed, these come first; the others follow by name."""


@lru_cache(maxsize=1)
def agent_names() -> tuple[str, ...]:
    """Of all that are known, in the order in which they are listed."""
    files = {name for folder in __path__ for name in os.listdir(folder) if name.endswith(".py")}
    names = {name.removesuffix(".py") for name in files if not name.startswith("_")}
    return (*(name for name in _FIRST if name in names), *sorted(names.difference(_FIRST)))


def agent_named(name: str) -> Agent:
    """All that is known of an agent; one without any part, when it is not known."""
    if name in agent_names():
        return import_module(f"{__name__}.{name}").AGENT
    from lamplighter.agents.formats.agent import Agent

    return Agent(name)


@lru_cache(maxsize=1)
def every_agent() -> tuple[Agent, ...]:
    return tuple(map(agent_named, agent_names()))


@lru_cache(maxsize=16)
def names_with(part: str) -> tuple[str, ...]:
    """Of the agents that have this part: those that can be started, for one, have `start`."""
    return tuple(agent.name for agent in every_agent() if getattr(agent, part) is not None)


@lru_cache(maxsize=1)
def _programs() -> tuple[Program, ...]:
    return tuple(agent.program for agent in every_agent() if agent.program)


def recognise(words: Sequence[str]) -> Program | None:
    """The program that a command line is of, if it is one of ours to know."""
    return _recognised(tuple(words))


@lru_cache(maxsize=8)  # a start asks several times for the same words
def _recognised(words: tuple[str, ...]) -> Program | None:
    return next((program for program in _programs() if program.runs(words)), None)


def program_name(words: Sequence[str]) -> str:
    """What a session that runs this is listed as."""
    program = recognise(words)
    return program.name if program else GENERIC


@lru_cache(maxsize=1)
def marks() -> Mapping[str, Program]:
    """Variables that an agent sets for what it starts. They can be forged, so they only ever take rights away."""
    return {mark: program for program in _programs() for mark in program.marks}


def unmarked(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what an agent sets for what it starts: another agent that finds it takes itself for a part of that one."""
    return {name: value for name, value in environment.items() if name not in _set_by_agents()}


@lru_cache(maxsize=1)
def _set_by_agents() -> frozenset[str]:
    return frozenset(name for program in _programs() for name in (*program.marks, *program.inherited))
