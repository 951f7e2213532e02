"""Commands that ask the daemon once and show the answer."""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.client import DaemonClient
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.output import CommandOutput
from lamplighter.frontends.cli.statuses import STATUS
from lamplighter.home import find_home


def ask(command: Command, arguments: Arguments, output: CommandOutput) -> int:
    """One request, one answer, shown."""
    key = arguments.key if command.changes else ""
    result = DaemonClient(find_home()).call(command.operation, command.complete(arguments.request), key)
    output.show(result, type(command).view)
    return status_of(result)


def overview(output: CommandOutput) -> int:
    """`lamp` alone."""
    from lamplighter.frontends.cli.views.sessions import overview as view

    output.show(DaemonClient(find_home()).call("get_overview", {}), view)
    return 0


def status_of(result: dict[str, Any]) -> int:
    """0, but for what the result itself says went wrong: survivors, or a machine with something broken."""
    certificate: dict[str, Any] = result.get("certificate") or {}
    if certificate.get("survivors") and result.get("state") == "ending":
        return STATUS[Code.SURVIVORS]
    if any(check.get("state") == "bad" for check in result.get("checks", ())):
        return STATUS[Code.UNSUPPORTED]
    return 0
