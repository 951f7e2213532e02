"""`lamp status`: the daemon, without starting it."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.machine import status
from lamplighter.home import find_home


class StatusCommand(Command):
    name = "status"
    examples = ("lamp status --json",)
    notes = "Does not start the daemon: exit status 3 when it is not running."

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        client = DaemonClient(find_home(), start=False, patience=5.0)
        output.show(client.call(self.operation, arguments.request), status)
        return 0
