"""`lamp handoff`: what was left for the next session; with --save, leaving something. Knows which words go with which."""

from __future__ import annotations

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.requests import complete
from lamplighter.home import find_home

_OF_LOADING = ("session", "project", "budget", "prompt")
_OF_BOTH = ("session", "project")


def handoff(command: Command, arguments: Arguments, output: Output) -> int:
    request, saves = arguments.request, bool(arguments.options.get("save"))
    for name in request:
        if (name in _OF_LOADING) == saves and name not in _OF_BOTH:
            option = command.field(name)["option"]
            wrong = f"{option} is about the packet that is shown" if saves else f"{option} needs --save"
            raise InputError(Code.BAD_INPUT, wrong, "lamp handoff --help shows both ways; nothing was done")
    client = Client(find_home())
    if saves:
        key = arguments.options.get("key") or new_key()
        present("handoff --save", client.call("hand_off", request, key), output)
    else:
        present("handoff", client.call(command.operation, complete("handoff", request)), output)
    return 0
