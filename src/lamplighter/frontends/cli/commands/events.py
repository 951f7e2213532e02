"""`lamp events`: the audit log."""

from __future__ import annotations

from typing import Any

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.machine import event_line, events
from lamplighter.home import find_home


class EventsCommand(Command):
    name = "events"
    also = {"follow": ("-f",)}
    ended_too = True
    examples = (
        "lamp events --follow",
        "lamp events nightly",
    )
    notes = "With --json and --follow, each line is one JSON document."

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """With --follow each event as it comes, once, also when the daemon is lost on the way."""
        request = arguments.request
        client = DaemonClient(find_home())
        if not request.get("follow"):
            output.show(client.call(self.operation, request), events)
            return 0
        seen = {"since": request.get("since", 0)}

        def show(event: dict[str, Any]) -> None:
            if event["n"] is not None:  # a change of verdict is told and not kept: it has no number to go on from
                seen["since"] = event["n"]
            if output.as_json:
                output.document(event, line=True)
            else:
                output.raw(f"{event_line(event)}\n")

        client.call(self.operation, request, each=show, again=lambda before: {**before, **seen})
        return 0
