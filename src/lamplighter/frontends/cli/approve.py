"""`lamp approve`: what agents ask for, one of them in full, and the operator's word on it.

Knows how a person is asked at the terminal; the rules are the daemon's.
"""

from __future__ import annotations

import sys
from typing import Any

from lamplighter.errors import Code, InputError, LampError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.statuses import DECLINED
from lamplighter.home import find_home

_ANSWERS = {"g": "grant", "grant": "grant", "y": "grant", "yes": "grant", "r": "refuse", "refuse": "refuse"}


def approve(command: Command, arguments: Arguments, output: Output) -> int:
    """Without an id the list; with one a decision: as an option says, or as the person at the terminal does."""
    client, request = Client(find_home()), arguments.request.get("request")
    decision = "refuse" if arguments.options.get("refuse") else "grant" if arguments.options.get("yes") else None
    if request is None:
        if decision is not None:
            raise InputError(
                Code.BAD_INPUT, f"{decision} which request?", "lamp approve lists them; each is decided on alone"
            )
        present(command.name, client.call(command.operation, {}), output)
        return 0
    if decision is None:
        shown = client.call(command.operation, arguments.request)["approvals"][0]
        request, decision = shown["id"], _ask(client, shown, output)
    if decision is None:
        output.note("nothing was decided")
        return DECLINED
    key = arguments.options.get("key") or new_key()
    _tell(client.call("decide_approval", {"request": request, "decision": decision}, key), output)
    return 0


def _ask(client: Client, request: dict[str, Any], output: Output) -> str | None:
    """What the person says who has read it all; None when that is neither yes nor no."""
    from lamplighter.frontends.cli.views.approvals import full

    if output.as_json or not (sys.stdin is not None and sys.stdin.isatty() and output.terminal):
        raise InputError(
            Code.BAD_INPUT,
            f"{request['id']} is {request['state']}, and there is no terminal to ask on",
            "--yes grants it, --refuse refuses it; lamp approve --json shows what is asked",
        )
    output.blocks(full(request, _tree(client, request["target"])))
    if request["state"] not in ("asked", "granted", "refused"):
        return None
    answer = ""
    try:
        output.err.write("Grant or refuse? [g/r, anything else leaves it as it is] ")
        output.err.flush()
        answer = sys.stdin.readline()
    finally:
        if not answer.endswith("\n"):  # Ctrl-C or Ctrl-D: what comes next begins on a line of its own
            output.note("")
    return _ANSWERS.get(answer.strip().lower())


def _tree(client: Client, target: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The processes of the session that it is about."""
    try:
        return client.call("get_session", {"session": target["id"]})["tree"] if target else []
    except LampError:
        return []


def _tell(result: dict[str, Any], output: Output) -> None:
    from lamplighter.frontends.cli.views.approvals import decided

    if output.as_json:
        output.document(result)
    else:
        output.blocks(decided(result))
