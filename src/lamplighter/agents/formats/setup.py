"""Where an agent's configuration has its MCP servers and its hooks, and what stands there for ours.

Knows files and keys; each agent's own are in its module. Reads and writes nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from lamplighter.agents import agent_named
from lamplighter.agents.formats.hooks import Hooks
from lamplighter.lazy_dataclass import dataclass

NO_HOOKS = "{} gets the MCP server alone: its agent can ask for the hand-off with the tool load_handoff"


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ConfigEntry:
    """One thing of ours in a file: the value at these keys, or one more item of the list there. Without keys: the whole file."""

    file: str
    keys: tuple[str, ...]
    value: Any
    item: bool = False


@dataclass(frozen=True)
class McpServer:
    """Our MCP server as a configuration names it: what starts it, and the variables that it needs."""

    name: str
    command: str
    arguments: Sequence[str]
    environment: Mapping[str, str]


def usual_servers(server: McpServer, top: str = "mcpServers", **first: Any) -> dict[str, Any]:
    """As most have it: by its name in one table, `first` in front of the usual."""
    entry = {**first, "command": server.command, "args": [*server.arguments]}
    return {top: {server.name: entry | ({"env": dict(server.environment)} if server.environment else {})}}


def _none(_: Site) -> list[ConfigEntry]:
    return []


@dataclass(frozen=True)
class Setup:
    """`file`: the one with its MCP servers, TOML or else JSON; `servers`: what stands there for ours; `place`: where a person
    puts that. `hooks`: what stands for our hooks. `note`: what its user should know."""

    file: Callable[[Site], str]
    place: str
    servers: Callable[[McpServer], dict[str, Any]] = usual_servers
    hooks: Callable[[Site], list[ConfigEntry]] = _none
    note: str = ""


def usual_hooks(hooks: Hooks, file: str, site: Site, timeout: int) -> list[ConfigEntry]:
    """As Claude Code has them; others have taken that over. `timeout` in the agent's own unit."""
    return [
        ConfigEntry(
            file,
            ("hooks", name),
            {"hooks": [{"type": "command", "command": site.hook(hooks.agent, event), "timeout": timeout}]},
            True,
        )
        for event, name in hooks.names.items()
    ]


def is_hook(value: Any, agent: str) -> bool:
    """Whether this is a hook of ours, whichever lamp it calls: one that was installed elsewhere is replaced."""
    known = agent_named(agent).hooks
    if not isinstance(value, dict) or known is None:
        return False
    words = str(value.get("command", "")).split()  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return len(words) > 2 and words[-3:-1] == ["hook", agent] and words[-1] in known.names
