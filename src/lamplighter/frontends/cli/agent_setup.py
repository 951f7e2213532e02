"""Our MCP server as an agent's configuration has it: for `lamp install`, and for a person who pastes it."""

from __future__ import annotations

import json
import os
from typing import Any

from lamplighter.agents import agent_named
from lamplighter.agents.formats.setup import ConfigEntry, McpServer, Setup, Site
from lamplighter.frontends.cli.program import own_command
from lamplighter.frontends.cli.toml_text import table


def setup_of(agent: str) -> Setup:
    found = agent_named(agent).setup
    assert found is not None, "the command line takes no other"
    return found


def site_of(project: str | None) -> Site:
    """For the user, or in one project's folder."""
    return Site(
        home=os.path.expanduser("~"),
        project=project,
        environment=os.environ,
        command=tuple(own_command()),
        variables={name: os.environ[name] for name in ("LAMPLIGHTER_HOME",) if os.environ.get(name)},
    )


def server_entries(setup: Setup, site: Site) -> list[ConfigEntry]:
    servers, file = _servers(setup, site, "core"), setup.file(site)
    return [ConfigEntry(file, (top, name), value) for top, named in servers.items() for name, value in named.items()]


def pasted(setup: Setup, tools: str) -> str:
    """What a person puts there."""
    site = site_of(None)
    servers = _servers(setup, site, tools)
    if setup.file(site).endswith(".toml"):
        return "".join(table((top, name), value) for top, named in servers.items() for name, value in named.items())
    return json.dumps(servers, indent=2) + "\n"


def _servers(setup: Setup, site: Site, tools: str) -> dict[str, dict[str, Any]]:
    """With the way to this very lamp in it, since agents often have another PATH."""
    command, *words = site.command
    name, options = ("lamplighter", []) if tools == "core" else (f"lamplighter-{tools}", ["--tools", tools])
    return setup.servers(McpServer(name, command, [*words, "mcp", *options], site.variables))
