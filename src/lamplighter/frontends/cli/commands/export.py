"""`lamp export`: records as lines of JSON."""

from __future__ import annotations

from typing import Any

from lamplighter.frontends.cli.caller_context import own_folder
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.home import find_home


class ExportCommand(Command):
    name = "export"
    examples = (
        "lamp export > records.jsonl",
        "lamp export --project shop > shop.jsonl",
    )
    notes = "Each line is one JSON document; --json changes nothing."

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """Lines as they come; after a break it goes on where it was."""
        at: dict[str, Any] = {}

        def write(item: dict[str, Any]) -> None:
            at["after"] = item["cursor"]
            output.out.write("".join(f"{line}\n" for line in item["lines"]))

        def rest(before: dict[str, Any]) -> dict[str, Any]:
            return {**before, **at}

        request = {"folder": own_folder(), **arguments.request}
        DaemonClient(find_home()).call(self.operation, request, each=write, again=rest)
        output.out.flush()
        return 0
