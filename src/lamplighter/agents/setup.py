"""Where an agent's configuration has its MCP servers and its hooks, and what stands there for ours.

Knows files and keys; each agent's own are in its module, which is imported on use. Reads and writes nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lamplighter.agents.hooks import HOOKS, hooks_of

SETUPS: dict[str, str] = {
    "claude": "lamplighter.agents.claude:SETUP",
    "codex": "lamplighter.agents.codex:SETUP",
    "gemini": "lamplighter.agents.gemini:SETUP",
    "opencode": "lamplighter.agents.opencode:SETUP",
    "cursor": "lamplighter.agents.editors:CURSOR",
    "vscode": "lamplighter.agents.editors:VSCODE",
}


@dataclass(frozen=True, slots=True)
class Site:
    """Where it is installed: for the user, or in one project's folder. `command` starts this lamp; `variables` are what it must
    be started with to find the same Lamplighter."""

    home: str
    project: str | None
    environment: Mapping[str, str]
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    def folder(self, own: str, variable: str = "", project: str | None = None) -> str:
        """The agent's folder: in the project, or where a variable says, or in the home folder."""
        if self.project is not None:
            return os.path.join(self.project, own if project is None else project)
        chosen = self.environment.get(variable) if variable else None
        return os.path.abspath(os.path.expanduser(chosen)) if chosen else os.path.join(self.home, own)

    def hook(self, agent: str, event: str) -> str:
        """The hook as a line for a shell."""
        given = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*given, shlex.join([*self.command, "hook", agent, event])])


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing of ours in a file: the value at these keys, or one more item of the list there. Without keys: the whole file."""

    file: str
    keys: tuple[str, ...]
    value: Any
    item: bool = False


def _none(_: Site) -> list[Entry]:
    return []


@dataclass(frozen=True, slots=True)
class Setup:
    """`server`: the file that names its MCP servers. `hooks`: what stands for our hooks. `note`: what its user should know."""

    agent: str
    server: Callable[[Site], str]
    hooks: Callable[[Site], list[Entry]] = _none
    note: str = ""


def setup_of(agent: str) -> Setup:
    module, _, attribute = SETUPS[agent].partition(":")
    return getattr(import_module(module), attribute)


def usual_hooks(agent: str, file: str, site: Site, timeout: int) -> list[Entry]:
    """As Claude Code has them; others have taken that over. `timeout` in the agent's own unit."""
    known = hooks_of(agent)
    assert known is not None, "it has hooks"
    return [
        Entry(
            file,
            ("hooks", name),
            {"hooks": [{"type": "command", "command": site.hook(agent, event), "timeout": timeout}]},
            True,
        )
        for event, name in known.names.items()
    ]


def is_hook(value: Any, agent: str) -> bool:
    """Whether this is a hook of ours, whichever lamp it calls: one that was installed elsewhere is replaced."""
    if not isinstance(value, dict) or agent not in HOOKS:
        return False
    words = str(value.get("command", "")).split()  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    known = hooks_of(agent)
    return known is not None and len(words) > 2 and words[-3:-1] == ["hook", agent] and words[-1] in known.names
