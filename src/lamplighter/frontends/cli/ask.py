"""Commands that ask the daemon once and show the answer. Knows which view shows which command's result."""

from __future__ import annotations

import importlib
import time
from typing import Any

from lamplighter.domain.duration import parse_duration
from lamplighter.errors import Code
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.requests import complete
from lamplighter.frontends.cli.statuses import STATUS, WAITED_FOR_FAILED
from lamplighter.home import find_home

_VIEWS = {
    "start": "talk:started",
    "send": "talk:sent",
    "wait": "talk:waited",
    "protect": "talk:protected",
    "adopt": "talk:adopted",
    "ls": "sessions:ls",
    "tree": "sessions:tree",
    "show": "detail:show",
    "end": "endings:ended",
    "kill": "endings:ended",
    "cleanup": "cleanup:plan",
    "scan": "scan:scanned",
    "approve": "approvals:listed",
    "handoff": "handoffs:packet",
    "handoff --save": "handoffs:saved",
    "handoffs": "handoffs:listed",
    "lineage": "handoffs:lineage",
    "down": "endings:down",
    "up": "machine:status",
    "open": "page:opened",
    "open --log-out": "page:closed",
    "status": "machine:status",
    "doctor": "machine:doctor",
    "prune": "machine:prune",
    "events": "machine:events",
    "overview": "sessions:overview",
    "remember": "records:remembered",
    "recall": "records:recalled",
    "records": "records:listed",
    "resolve": "records:closed",
    "supersede": "records:superseded",
    "forget": "records:closed",
    "import": "records:imported",
    "token create": "tokens:created",
    "token ls": "tokens:listed",
    "token revoke": "tokens:revoked",
}


def ask(command: Command, arguments: Arguments, output: Output) -> int:
    """One request, one answer, shown."""
    request = complete(command.name, arguments.request)
    key = (arguments.options.get("key") or new_key()) if command.changes else ""
    result = Client(find_home()).call(command.operation, request, key)
    present(command.name, result, output)
    return status_of(result)


def overview(output: Output) -> int:
    """`lamp` alone."""
    present("overview", Client(find_home()).call("get_overview", {}), output)
    return 0


def wait(command: Command, arguments: Arguments, output: Output) -> int:
    """As `ask`, but right also when the daemon is lost on the way: the timeout does not start anew, nor does the choice."""
    request = arguments.request
    deadline, chosen = None, dict[str, Any]()
    if "timeout" in request:
        deadline = time.monotonic() + parse_duration(request["timeout"], "timeout")

    def rest(before: dict[str, Any]) -> dict[str, Any]:
        left = {} if deadline is None else {"timeout": f"{max(0.0, deadline - time.monotonic()):.3f}"}
        return {**before, **chosen, **left}

    result = Client(find_home()).call(command.operation, request, each=chosen.update, again=rest)
    present(command.name, result, output)
    return WAITED_FOR_FAILED if result["failed"] else 0


def present(name: str, result: dict[str, Any], output: Output) -> None:
    """The result as JSON, or through the view of this command."""
    if output.as_json:
        output.document(result)
        return
    if name not in _VIEWS:  # an operation that has no view yet is still shown
        output.document(result)
        return
    module, _, function = _VIEWS[name].partition(":")
    view = getattr(importlib.import_module(f"lamplighter.frontends.cli.views.{module}"), function)
    output.blocks(view(result))


def status_of(result: dict[str, Any]) -> int:
    """0, but for what the result itself says went wrong: survivors, or a machine with something broken."""
    certificate: dict[str, Any] = result.get("certificate") or {}
    if certificate.get("survivors") and result.get("state") == "ending":
        return STATUS[Code.SURVIVORS]
    if any(check.get("state") == "bad" for check in result.get("checks", ())):
        return STATUS[Code.UNSUPPORTED]
    return 0
