"""`lamp mcp`: be the bridge that agents start, or print what to paste into an agent's configuration.

Knows where each client keeps its servers; the bridge itself is `frontends.mcp.bridge`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import make_folders
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.program import own_command
from lamplighter.frontends.mcp.bridge import main as carry
from lamplighter.home import find_home

PLACES = {
    "claude": ".mcp.json of a project, or run: claude mcp add-json NAME 'what is inside its braces'",
    "codex": "~/.codex/config.toml",
    "gemini": "~/.gemini/settings.json",
    "opencode": "~/.config/opencode/opencode.json, or opencode.json of a project",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a project, or the user's mcp.json (MCP: Open User Configuration)",
}


def mcp(_: Command, arguments: Arguments, output: Output) -> int:
    tools = str(arguments.options.get("tools") or "core")
    wanted = arguments.options.get("print_config")
    if wanted is None:
        return bridge(tools)
    config = configuration(str(wanted), tools)
    if output.as_json:
        output.document({"client": wanted, "place": PLACES[str(wanted)], "config": config})
        return 0
    output.raw(config)
    output.note(f"goes into {PLACES[str(wanted)]}")
    return 0


def bridge(tools: str) -> int:
    """Carry messages until the client leaves."""
    if sys.stdin.isatty():
        sys.stderr.write("lamp mcp speaks MCP with an agent's client; lamp mcp --print-config says how to set one up\n")
    home = find_home()
    make_folders(home)
    return carry(home.run, home.state, tools)


def configuration(client: str, tools: str) -> str:
    """What to paste; with the way to this very lamp in it, since agents often have another PATH."""
    command, *words = own_command()
    arguments = [*words, "mcp", *(["--tools", tools] if tools != "core" else [])]
    name = "lamplighter" if tools == "core" else f"lamplighter-{tools}"
    environment = {key: os.environ[key] for key in ("LAMPLIGHTER_HOME",) if key in os.environ}
    if client == "codex":
        return _toml(name, command, arguments, environment)
    if client == "opencode":
        local: dict[str, Any] = {"type": "local", "command": [command, *arguments], "enabled": True}
        return _json("mcp", name, local | ({"environment": environment} if environment else {}))
    server: dict[str, Any] = {"type": "stdio"} if client in ("claude", "vscode") else {}
    server |= {"command": command, "args": arguments} | ({"env": environment} if environment else {})
    return _json("servers" if client == "vscode" else "mcpServers", name, server)


def _json(top: str, name: str, server: dict[str, Any]) -> str:
    return json.dumps({top: {name: server}}, indent=2) + "\n"


def _toml(name: str, command: str, arguments: list[str], environment: dict[str, str]) -> str:
    # A JSON string is a TOML string too.
    lines = [f"[mcp_servers.{name}]", f"command = {json.dumps(command)}", f"args = {json.dumps(arguments)}"]
    if environment:
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in environment.items())
        lines.append(f"env = {{ {pairs} }}")
    return "\n".join(lines) + "\n"
