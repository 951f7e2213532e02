"""`lamp uninstall TARGET`: takes away what `lamp install` wrote; with --everything all that Lamplighter has put here."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, Document, Field, client_option, place
from lamplighter.frontends.cli.commands.install import INSTALL_OPTIONS, TARGETS, plan
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments


class UninstallCommand(Command):
    name = "uninstall"
    group = "machine"
    summary = "Remove what install wrote, and put back what was there before."
    details = (
        "An agent's files are restored to the byte; where they have changed since, only Lamplighter's part is "
        "removed. A unit or script that was edited by hand is kept under another name beside it. Files that are not "
        "Lamplighter's stay as they are. --everything shows all that it would remove and asks: agents' "
        "configuration, also in projects, the service, completion, the daemon, the state with all that sessions "
        "knew, and the link that ./run made. It refuses while sessions run, unless --end-sessions is given. It does "
        "not remove the program itself. Operator only."
    )
    own_places = ("target",)
    client_options = (
        client_option(
            "everything", "--everything", "remove all of Lamplighter: what was installed, the daemon, its state"
        ),
        client_option("end_sessions", "--end-sessions", "with --everything: end running sessions first"),
        client_option("yes", "--yes", "with --everything: do not ask"),
        *INSTALL_OPTIONS,
    )
    examples = (
        "lamp uninstall claude",
        "lamp uninstall service",
        "lamp uninstall --everything --dry-run",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [place("target", "what to uninstall", choices=TARGETS, required=False)]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        if arguments.options.get("everything"):
            from lamplighter.frontends.cli.installer.full_uninstall import uninstall_everything

            if "target" in arguments.request:
                raise InputError(
                    Code.BAD_INPUT, "--everything is all there is", "leave out --everything, or what it names"
                )
            return uninstall_everything(arguments, output)
        if "target" not in arguments.request:
            raise InputError(
                Code.BAD_INPUT,
                "uninstall needs what to take away",
                f"it is one of {', '.join(TARGETS)}, or --everything",
            )
        return plan("uninstall", arguments).carry_out(output, dry=bool(arguments.options.get("dry_run")))
