"""`lamp mcp`: be the bridge that agents start, or print what to paste into an agent's configuration.

Knows no client; the bridge itself is `frontends.mcp.bridge`.
"""

from __future__ import annotations

import sys

from lamplighter.frontends.cli.command import AgentNames, Command, client_option
from lamplighter.frontends.cli.daemon_client import make_folders
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.mcp.bridge import main as carry
from lamplighter.frontends.mcp.toolsets import TOOLSETS
from lamplighter.home import find_home


class McpCommand(Command):
    name = "mcp"
    group = "machine"
    summary = "Serve MCP to an agent on standard input and output; the agent's configuration starts this."
    details = (
        "mcp is a small bridge to the daemon. It starts the daemon when needed, and connects again when the daemon "
        "was stopped or upgraded; no call is carried out twice. It ends when its client does. The kernel says which "
        "agent is calling; its rights are the same everywhere."
    )
    client_options = (
        client_option(
            "tools",
            "--tools",
            "toolset: core, or the tools of another server by its names",
            type="string",
            default="core",
            choices=list(TOOLSETS),
        ),
        client_option(
            "print_config",
            "--print-config",
            "print what to paste into this client's configuration, and do nothing else",
            type="string",
            default=None,
            choices=AgentNames("setup"),
        ),
    )
    examples = (
        "lamp mcp --print-config claude",
        "lamp mcp --print-config codex",
        "lamp mcp --tools tmux",
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        tools = str(arguments.options.get("tools") or "core")
        wanted = arguments.options.get("print_config")
        if wanted is None:
            return bridge(tools)
        from lamplighter.frontends.cli.installer.agent_config import pasted, setup_of

        setup = setup_of(str(wanted))
        config = pasted(setup, tools)
        if output.as_json:
            output.document({"client": wanted, "place": setup.place, "config": config})
            return 0
        output.raw(config)
        output.note(f"goes into {setup.place}")
        return 0


def bridge(tools: str) -> int:
    """Carry messages until the client leaves."""
    if sys.stdin.isatty():
        sys.stderr.write("lamp mcp speaks MCP with an agent's client; lamp mcp --print-config says how to set one up\n")
    home = find_home()
    make_folders(home)
    return carry(home.run, home.state, tools)
