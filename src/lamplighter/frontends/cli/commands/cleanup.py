"""`lamp cleanup`: the plan, or its apply row by row as it goes, or both at once.

Knows how progress is shown and which exit status a list of outcomes has; the rules are the daemon's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, client_option
from lamplighter.frontends.cli.commands.ls import SELECTION
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.blocks import TextLine
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import status_of_several
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views import cleanup as views
from lamplighter.home import find_home

_Step = Callable[[int, int, TextLine], None]


class CleanupCommand(Command):
    name = "cleanup"
    spelt = {"older_than": "--quiet-for"}
    also = {"older_than": ("--older-than",)}
    client_options = (
        client_option("yes", "--yes", "make the plan and apply it at once"),
        client_option("dry_run", "--dry-run", "make the plan and end nothing (the default without --yes and --apply)"),
    )
    examples = (
        "lamp cleanup",
        "lamp cleanup --apply plan-1f3a9c02",
        "lamp cleanup --apply plan-1f3a9c02 --without 01jc7x4v",
        "lamp cleanup idle,kind:cron --quiet-for 8h",
        "lamp cleanup --yes --reason 'nightly cleanup'",
        "lamp cleanup --leaks",
        "lamp cleanup --leaks leak-1f3a9c02",
    )
    notes = (
        SELECTION
        + " Exit status 8 when a process survived, else that of the first row that failed; a skipped row is no failure."
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """A plan; with --apply what came of it; with --yes both, where only the second is the result."""
        client, request = DaemonClient(find_home()), arguments.request
        if arguments.options.get("dry_run") and (arguments.options.get("yes") or "apply" in request):
            raise InputError(
                Code.BAD_INPUT,
                "--dry-run ends nothing, --yes and --apply do",
                "leave one out; a plan alone ends nothing",
            )
        key = arguments.key
        if arguments.options.get("yes") and "apply" not in request:
            kept = {"without": request["without"]} if "without" in request else {}
            wanted = {name: value for name, value in request.items() if name not in kept}
            plan = client.call(self.operation, wanted, f"{key}:plan")
            if not output.as_json:
                output.blocks(views.left_out(plan))
            request = {"apply": plan["plan"], **kept}
        if "apply" in request:
            return _apply(client, self.operation, request, key, output)
        output.show(client.call(self.operation, request, key), views.plan)
        return 0


def _apply(client: DaemonClient, operation: str, request: dict[str, Any], key: str, output: CommandOutput) -> int:
    """Each row once, as it comes; those that another client was told of with the result."""
    shown: set[str] = set()
    with _progress(output) as step:

        def show(done: int, total: int, row: dict[str, Any]) -> None:
            if row["id"] not in shown:
                shown.add(row["id"])
                step(done, total, views.row(row))

        result = client.call(operation, request, key, each=lambda item: show(item["done"], item["total"], item["row"]))
        for row in result["rows"]:
            show(len(result["rows"]), len(result["rows"]), row)
    output.show(result, views.sums)
    return worst(result["rows"])


@contextmanager
def _progress(output: CommandOutput) -> Generator[_Step]:
    """A bar on a terminal, a line a row elsewhere, nothing beside a JSON document."""
    if output.as_json:
        yield lambda _done, _total, _line: None
    elif not output.terminal:
        yield lambda _done, _total, line: output.blocks([line])
    else:
        from lamplighter.frontends.cli.display import styled

        with styled.progress(output.out) as step:
            yield step


def worst(rows: list[dict[str, Any]]) -> int:
    return status_of_several(rows, survived=any(row["outcome"] == "survived" for row in rows))
