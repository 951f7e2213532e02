"""VS Code: where it keeps its MCP servers. What its hooks do was not seen, so it gets none."""

from __future__ import annotations

import os
from typing import Any

from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.setup import NO_HOOKS, McpServer, Setup, Site, usual_servers


def _file(site: Site) -> str:
    config = site.environment.get("XDG_CONFIG_HOME") or os.path.join(site.home, ".config")
    return os.path.join(site.project, ".vscode", "mcp.json") if site.project else f"{config}/Code/User/mcp.json"


def _servers(server: McpServer) -> dict[str, Any]:
    return usual_servers(server, "servers", type="stdio")


AGENT = Agent(
    "vscode",
    setup=Setup(
        _file,
        ".vscode/mcp.json of a project, or the user's mcp.json (MCP: Open User Configuration)",
        _servers,
        note=NO_HOOKS.format("VS Code"),
    ),
)
