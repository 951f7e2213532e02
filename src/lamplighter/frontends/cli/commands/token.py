"""`lamp token create|ls|revoke`: three operations behind one word. Knows which words go with which; rules are the daemon's."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, Document, Field, option, place
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.access import created, listed, revoked
from lamplighter.home import find_home

_TAKES = {"create": ("name", "scope", "expires"), "ls": (), "revoke": ("name",)}
_NEEDS = {"create": ("name", "scope"), "ls": (), "revoke": ("name",)}
_ACTIONS = {"create": ("create_token", created), "ls": ("list_tokens", listed), "revoke": ("revoke_token", revoked)}


class TokenCommand(Command):
    name = "token"
    operation = "create_token"
    group = "machine"
    summary = "Create, list and revoke tokens for clients that use HTTP."
    details = (
        "create shows the secret once; only its hash is stored. The scope read allows list, show, read and wait; the "
        "scope end allows end and kill of what the token started. Revoking a token closes its connections at once; "
        "its sessions go on. Operator only."
    )
    own_places = ("action", "name")
    changes = True
    examples = (
        "lamp token create laptop --scope read,start,send,end",
        "lamp token create dashboard --scope read --expires 8h",
        "lamp token ls",
        "lamp token revoke laptop",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [
            place("action", "what to do", choices=["create", "ls", "revoke"]),
            place("name", "name of the token", required=False),
            option(
                "scope",
                "--scope",
                "create: what it may do: read, start, send, end, records, separated by commas",
                default="",
            ),
            option("expires", "--expires", "create: how long it is valid: 8h; none for ever (default 30d)"),
        ]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        action = arguments.request["action"]
        request = {name: value for name, value in arguments.request.items() if name != "action"}
        _check(action, request)
        operation, view = _ACTIONS[action]
        key = "" if action == "ls" else arguments.key
        output.show(DaemonClient(find_home()).call(operation, request, key), view)
        return 0


def _check(action: str, request: dict[str, str]) -> None:
    hint = "lamp token --help shows how it is used"
    for name in request:
        if name not in _TAKES[action]:
            raise InputError(Code.BAD_INPUT, f"token {action} takes no {name}", hint)
    for name in _NEEDS[action]:
        if not request.get(name):
            wanted = "--scope: read, start, send, end, records, with commas between" if name == "scope" else "a NAME"
            raise InputError(Code.BAD_INPUT, f"token {action} needs {wanted}", hint)
