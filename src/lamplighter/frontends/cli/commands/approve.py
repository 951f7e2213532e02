"""`lamp approve`: what agents ask for, one of them in full, and the operator's word on it.

Knows how a person is asked at the terminal; the rules are the daemon's.
"""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code, InputError, LampError
from lamplighter.frontends.cli.command import KEY, Command, client_option
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import DECLINED
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.approvals import decided, full, listed
from lamplighter.home import find_home

_ANSWERS = {"g": "grant", "grant": "grant", "y": "grant", "yes": "grant", "r": "refuse", "refuse": "refuse"}


class ApproveCommand(Command):
    name = "approve"
    client_options = (
        client_option("yes", "--yes", "grant it without asking"),
        client_option("refuse", "--refuse", "refuse it without asking"),
        KEY,
    )
    examples = (
        "lamp approve",
        "lamp approve ap-4k9d",
        "lamp approve ap-4k9d --refuse",
    )
    notes = (
        "On a terminal, approve shows what would happen and asks; an answer that neither grants nor refuses leaves "
        "the request open (exit status 9). Without a terminal it needs --yes or --refuse."
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """Without an id the list; with one a decision: as an option says, or as the person at the terminal does."""
        client, request = DaemonClient(find_home()), arguments.request.get("request")
        decision = "refuse" if arguments.options.get("refuse") else "grant" if arguments.options.get("yes") else None
        if request is None:
            if decision is not None:
                raise InputError(
                    Code.BAD_INPUT, f"{decision} which request?", "lamp approve lists them; each is decided on alone"
                )
            output.show(client.call(self.operation, {}), listed)
            return 0
        if decision is None:
            shown = client.call(self.operation, arguments.request)["approvals"][0]
            request, decision = shown["id"], _ask(client, shown, output)
        if decision is None:
            output.note("nothing was decided")
            return DECLINED
        output.show(client.call("decide_approval", {"request": request, "decision": decision}, arguments.key), decided)
        return 0


def _ask(client: DaemonClient, request: dict[str, Any], output: CommandOutput) -> str | None:
    """What the person says who has read it all; None when that is neither yes nor no."""
    if output.as_json or not output.can_ask(output.out):
        raise InputError(
            Code.BAD_INPUT,
            f"{request['id']} is {request['state']}, and there is no terminal to ask on",
            "--yes grants it, --refuse refuses it; lamp approve --json shows what is asked",
        )
    output.blocks(full(request, _tree(client, request["target"])))
    if request["state"] not in ("asked", "granted", "refused"):
        return None
    answer = output.ask("Grant or refuse? [g/r, anything else leaves it as it is] ")
    return _ANSWERS.get(answer)


def _tree(client: DaemonClient, target: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The processes of the session that it is about."""
    try:
        return client.call("get_session", {"session": target["id"]})["tree"] if target else []
    except LampError:
        return []
