"""`lamp install TARGET`: finds the target's own module, and carries out what it plans.

Each target is a module with `install(options)` and `uninstall(options)`, both returning an Installation; nothing is changed
before that is carried out. Agents may install the service and completion: that writes the user's own files, which any process
of the user can write too. How agents are set up is the operator's alone, and its module refuses them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from lamplighter.frontends.cli.command import AgentNames, Command, Document, Field, client_option, place
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.installer.completion_script import SHELLS
from lamplighter.frontends.cli.installer.installation import Installation
from lamplighter.frontends.cli.parser.arguments import Arguments

MODULES = {"service": "systemd_unit", "completion": "completion_script"}
"""Which module knows how; every other target is an agent."""
TARGETS = AgentNames("setup", before=MODULES)


INSTALL_OPTIONS = (
    client_option("dry_run", "--dry-run", "show what would be written and run, and do nothing"),
    client_option("project", "--project", "agents: only for the project in this folder"),
    client_option("no_start", "--no-start", "service: change the file and run nothing; for images and dotfiles"),
    client_option(
        "shell",
        "--shell",
        "completion: for this shell (default: yours; to uninstall: all)",
        type="string",
        default=None,
        choices=list(SHELLS),
    ),
)


class InstallCommand(Command):
    name = "install"
    group = "machine"
    summary = "Install Lamplighter into an agent, your shell or systemd."
    details = (
        "In an agent's configuration, install adds the MCP server and, where the agent has them, hooks. Nothing else "
        "in those files changes, and a copy of each file as it was is kept. service writes a systemd user unit that "
        "starts the daemon at login; stopping the unit never ends a session. completion puts the script where the "
        "shell looks for it. An existing file that is not Lamplighter's is kept, and uninstall puts it back. "
        "Installing twice changes nothing. Operator only."
    )
    own_places = ("target",)
    client_options = INSTALL_OPTIONS
    examples = (
        "lamp install claude --dry-run",
        "lamp install codex --project",
        "lamp install service",
        "lamp install completion --shell zsh",
    )
    notes = "What is written where, and what the hooks do: docs/hooks.md."

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [place("target", "what to install", choices=TARGETS)]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        return plan("install", arguments).carry_out(output, dry=bool(arguments.options.get("dry_run")))


def plan(what: str, arguments: Arguments) -> Installation:
    target = arguments.request["target"]
    module: Any = importlib.import_module(f"lamplighter.frontends.cli.installer.{MODULES.get(target, 'agent_config')}")
    return getattr(module, what)({**arguments.options, "target": target})
