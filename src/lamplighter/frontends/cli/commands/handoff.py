"""`lamp handoff`: what was left for the next session; with --save, leaving something. Knows which words go with which."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.caller_context import with_folder
from lamplighter.frontends.cli.command import Command, Document, Field, client_option
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.handoffs import packet, saved
from lamplighter.home import find_home

_OF_LOADING = ("session", "project", "budget", "prompt")
_OF_BOTH = ("session", "project")

HANDOFF_OPTIONS = {
    "decisions": "--decision",
    "open_loops": "--open-loop",
    "preferences": "--preference",
    "constraints": "--constraint",
    "warnings": "--warning",
    "next_session_focus": "--focus",
    "resolved_loops": "--resolved",
    "dropped_loops": "--dropped",
    "transcript_path": "--transcript",
    "succession_policy": "--policy",
}
"""Lists are given one by one, so their options are called as one item is."""


class HandoffCommand(Command):
    name = "handoff"
    spelt = {"prompt": "--for", **HANDOFF_OPTIONS}
    own_places = ("session",)
    changes = True
    client_options = (client_option("save", "--save", "store a hand-off instead of showing one; ends nothing"),)
    examples = (
        "lamp handoff",
        "lamp handoff nightly --budget 4000",
        "lamp handoff --project shop --for 'mend the date parser'",
        "lamp handoff claude --save --checkpoint 'dates are read; zones are not' --open-loop 'zones'",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        """Two operations behind one word: what was left, and leaving something."""
        loading, saving = self.fields_of(operations, self.operation), self.fields_of(operations, "hand_off")
        known = {field["name"] for field in loading}
        own = [field for field in saving if field["name"] not in known]
        return [*loading, *({**field, "description": f"with --save: {field['description']}"} for field in own)]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        request, saves = arguments.request, bool(arguments.options.get("save"))
        for name in request:
            if (name in _OF_LOADING) == saves and name not in _OF_BOTH:
                option = self.field(name)["option"]
                wrong = f"{option} is about the packet that is shown" if saves else f"{option} needs --save"
                raise InputError(Code.BAD_INPUT, wrong, "lamp handoff --help shows both ways; nothing was done")
        client = DaemonClient(find_home())
        if saves:
            output.show(client.call("hand_off", request, arguments.key), saved)
        else:
            output.show(client.call(self.operation, with_folder(request)), packet)
        return 0
