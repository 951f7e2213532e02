"""Editors with agents in them: where each keeps its MCP servers. What their hooks do was not seen, so they get none."""

from __future__ import annotations

import os

from lamplighter.agents.setup import Setup, Site

_NO_HOOKS = "{} gets the MCP server alone: its agent can ask for the hand-off with the tool load_handoff"


def _cursor(site: Site) -> str:
    return os.path.join(site.folder(".cursor"), "mcp.json")


def _vscode(site: Site) -> str:
    config = site.environment.get("XDG_CONFIG_HOME") or os.path.join(site.home, ".config")
    return os.path.join(site.project, ".vscode", "mcp.json") if site.project else f"{config}/Code/User/mcp.json"


CURSOR = Setup("cursor", _cursor, note=_NO_HOOKS.format("Cursor"))
VSCODE = Setup("vscode", _vscode, note=_NO_HOOKS.format("VS Code"))
