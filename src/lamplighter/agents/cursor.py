"""Cursor: where it keeps its MCP servers. What its hooks do was not seen, so it gets none."""

from __future__ import annotations

import os

from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.setup import NO_HOOKS, Setup, Site


def _file(site: Site) -> str:
    return os.path.join(site.folder(".cursor"), "mcp.json")


AGENT = Agent(
    "cursor", setup=Setup(_file, "~/.cursor/mcp.json, or .cursor/mcp.json of a project", note=NO_HOOKS.format("Cursor"))
)
