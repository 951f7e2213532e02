"""`lamp completion`: a shell's completion script."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.command import Command, Document, Field, place
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.installer.completion_script import SHELLS, script
from lamplighter.frontends.cli.parser.arguments import Arguments


class CompletionCommand(Command):
    name = "completion"
    group = "machine"
    summary = "Print the completion script of a shell: commands, options, names of sessions, plans."
    details = "To install it: install completion."
    own_places = ("shell",)
    examples = ("lamp completion bash",)
    notes = "In bash or zsh: source <(lamp completion bash). In fish: lamp completion fish | source."

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [place("shell", "shell to print it for", choices=list(SHELLS))]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        shell = arguments.request["shell"]
        if output.as_json:
            output.document({"shell": shell, "script": script(shell)})
        else:
            output.raw(script(shell))
        return 0
