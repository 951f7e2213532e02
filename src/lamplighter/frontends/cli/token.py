"""`lamp token create|ls|revoke`: three operations behind one word. Knows which words go with which; rules are the daemon's."""

from __future__ import annotations

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.home import find_home

_TAKES = {"create": ("name", "scope", "expires"), "ls": (), "revoke": ("name",)}
_NEEDS = {"create": ("name", "scope"), "ls": (), "revoke": ("name",)}
_OPERATIONS = {"create": "create_token", "ls": "list_tokens", "revoke": "revoke_token"}


def token(_: Command, arguments: Arguments, output: Output) -> int:
    action = arguments.request["action"]
    request = {name: value for name, value in arguments.request.items() if name != "action"}
    _check(action, request)
    key = "" if action == "ls" else arguments.options.get("key") or new_key()
    present(f"token {action}", Client(find_home()).call(_OPERATIONS[action], request, key), output)
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
