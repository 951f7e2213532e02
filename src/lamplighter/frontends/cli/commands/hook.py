"""`lamp hook`: what agents run at each of their events."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli import hook_client
from lamplighter.frontends.cli.command import AgentNames, Command, Document, Field, place
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments


class HookCommand(Command):
    name = "hook"
    group = "machine"
    summary = "Handle an event of an agent; install sets this up, nobody types it."
    details = (
        "hook reads the agent's message on standard input, tells the daemon, and prints what the agent takes: at "
        "start, the hand-off. Without a daemon, or when it does not answer in time, hook prints nothing. The exit "
        "status is always 0."
    )
    own_places = ("agent", "event")
    examples = ("lamp hook claude start",)

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [
            place("agent", "agent that runs the hook", choices=AgentNames("hooks")),
            place("event", "event that happened", choices=list(hook_client.SECONDS)),
        ]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        return hook_client.main([arguments.request["agent"], arguments.request["event"]])
