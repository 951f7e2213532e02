"""`lamp cleanup`: the plan, or its apply row by row as it goes, or both at once.

Knows how progress is shown and which exit status a list of outcomes has; the rules are the daemon's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.blocks import Line
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, as_error, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.statuses import STATUS
from lamplighter.home import find_home

_Step = Callable[[int, int, Line], None]


def cleanup(command: Command, arguments: Arguments, output: Output) -> int:
    """A plan; with --apply what came of it; with --yes both, where only the second is the result."""
    from lamplighter.frontends.cli.views.cleanup import left_out

    client, request = Client(find_home()), arguments.request
    if arguments.options.get("dry_run") and (arguments.options.get("yes") or "apply" in request):
        raise InputError(
            Code.BAD_INPUT, "--dry-run ends nothing, --yes and --apply do", "leave one out; a plan alone ends nothing"
        )
    key = arguments.options.get("key") or new_key()
    if arguments.options.get("yes") and "apply" not in request:
        kept = {"without": request["without"]} if "without" in request else {}
        wanted = {name: value for name, value in request.items() if name not in kept}
        plan = client.call(command.operation, wanted, f"{key}:plan")
        if not output.as_json:
            output.blocks(left_out(plan))
        request = {"apply": plan["plan"], **kept}
    if "apply" in request:
        return _apply(client, command, request, key, output)
    present(command.name, client.call(command.operation, request, key), output)
    return 0


def _apply(client: Client, command: Command, request: dict[str, Any], key: str, output: Output) -> int:
    """Each row once, as it comes; those that another client was told of with the result."""
    from lamplighter.frontends.cli.views import cleanup as views

    shown: set[str] = set()
    with _progress(output) as step:

        def show(done: int, total: int, row: dict[str, Any]) -> None:
            if row["id"] not in shown:
                shown.add(row["id"])
                step(done, total, views.row(row))

        result = client.call(
            command.operation, request, key, each=lambda item: show(item["done"], item["total"], item["row"])
        )
        for row in result["rows"]:
            show(len(result["rows"]), len(result["rows"]), row)
    if output.as_json:
        output.document(result)
    else:
        output.blocks(views.sums(result))
    return worst(result["rows"])


@contextmanager
def _progress(output: Output) -> Generator[_Step]:
    """A bar on a terminal, a line a row elsewhere, nothing beside a JSON document."""
    if output.as_json:
        yield lambda _done, _total, _line: None
    elif not output.terminal:
        yield lambda _done, _total, line: output.blocks([line])
    else:
        from lamplighter.frontends.cli import styled

        with styled.progress(output.out) as step:
            yield step


def worst(rows: list[dict[str, Any]]) -> int:
    """The status for a list of outcomes: survivors first, then the first error. What is skipped is no failure."""
    if any(row["outcome"] == "survived" for row in rows):
        return STATUS[Code.SURVIVORS]
    errors = [row["error"] for row in rows if row.get("error")]
    return STATUS[as_error(errors[0]).code] if errors else 0
