"""`lamp install TARGET` and `lamp uninstall TARGET`: finds the target's own module, and carries out what it plans.

Each target is a module with `install(options)` and `uninstall(options)`, both returning an Installation; nothing is changed
before that is carried out. Agents may install the service and completion: that writes the user's own files, which any process
of the user can write too. How agents are set up is the operator's alone, and its module refuses them.
"""

from __future__ import annotations

import importlib
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.installation import Installation
from lamplighter.frontends.cli.output import Output

_AGENTS = ("claude", "codex", "gemini", "opencode", "cursor", "vscode")
TARGETS = {"service": "unit", "completion": "completion", **dict.fromkeys(_AGENTS, "agent_install")}
"""What can be installed: the module that knows how."""


def install(_: Command, arguments: Arguments, output: Output) -> int:
    return _plan("install", arguments).carry_out(output, dry=bool(arguments.options.get("dry_run")))


def uninstall(_: Command, arguments: Arguments, output: Output) -> int:
    if arguments.options.get("everything"):
        from lamplighter.frontends.cli.everything import uninstall_everything

        if "target" in arguments.request:
            raise InputError(Code.BAD_INPUT, "--everything is all there is", "leave out --everything, or what it names")
        return uninstall_everything(arguments, output, _AGENTS)
    if "target" not in arguments.request:
        raise InputError(
            Code.BAD_INPUT, "uninstall needs what to take away", f"it is one of {', '.join(TARGETS)}, or --everything"
        )
    return _plan("uninstall", arguments).carry_out(output, dry=bool(arguments.options.get("dry_run")))


def _plan(what: str, arguments: Arguments) -> Installation:
    module: Any = importlib.import_module(f"lamplighter.frontends.cli.{TARGETS[arguments.request['target']]}")
    return getattr(module, what)({**arguments.options, "target": arguments.request["target"]})
