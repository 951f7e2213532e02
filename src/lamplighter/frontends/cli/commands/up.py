"""`lamp up`: the daemon and a link to the page; with --foreground a process that stays as long as the daemon is wanted."""

from __future__ import annotations

from typing import Any

from lamplighter.frontends.cli.command import Command, client_option
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.machine import status
from lamplighter.home import find_home


class UpCommand(Command):
    name = "up"
    operation = "get_status"
    group = "machine"
    summary = "Start the daemon if it is not running, and show it with a link to the page."
    details = "No command needs this first: the daemon starts on first use. The link works like that of open."
    own_places = ()
    changes = False
    client_options = (
        client_option(
            "foreground", "--foreground", "stay until the daemon is told to stop, as a service manager expects"
        ),
    )
    examples = ("lamp up",)
    notes = (
        "With --foreground, up stays until the daemon is told to stop; TERM and Ctrl-C stop the daemon too. Sessions "
        "go on."
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        if arguments.options.get("foreground"):
            from lamplighter.frontends.cli.foreground_service import stay

            return stay(find_home(), output)
        client = DaemonClient(find_home())
        result = client.call(self.operation, arguments.request)
        output.show({**result, "page": _page(client, result)}, status)
        return 0


def _page(client: DaemonClient, status: dict[str, Any]) -> str | None:
    """A link to the page, for the operator."""
    if not status["http"] or status["caller"] != "operator":
        return None
    from lamplighter.frontends.cli.commands.open import link

    return link(client)["url"]
