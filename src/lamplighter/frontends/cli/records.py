"""`lamp remember`, `resolve`, `supersede`, `forget`, `export`, `import`: words into what the operations take.

Knows which words go with which, and how files are passed; rules are the daemon's.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from typing import IO, Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, make_folders, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.home import find_home

_OF_THE_PLACE = ("project", "everywhere")


def remember(command: Command, arguments: Arguments, output: Output) -> int:
    given = {**arguments.request, "content": _text(arguments.request["content"])}
    record = {name: value for name, value in given.items() if name not in _OF_THE_PLACE}
    place = {name: value for name, value in given.items() if name in _OF_THE_PLACE}
    return _change(command, arguments, output, {"records": [record], "folder": _here(), **place})


def resolve(command: Command, arguments: Arguments, output: Output) -> int:
    return _change(command, arguments, output, {"action": "resolve", **arguments.request})


def forget(command: Command, arguments: Arguments, output: Output) -> int:
    return _change(command, arguments, output, {"action": "forget", **arguments.request})


def supersede(command: Command, arguments: Arguments, output: Output) -> int:
    given = dict(arguments.request)
    changes = {"records": [given.pop("record")], "content": _text(given.pop("content"))}
    return _change(command, arguments, output, {"action": "supersede", "folder": _here(), **changes, **given})


def _change(command: Command, arguments: Arguments, output: Output, request: dict[str, Any]) -> int:
    key = arguments.options.get("key") or new_key()
    present(command.name, Client(find_home()).call(command.operation, request, key), output)
    return 0


def export(command: Command, arguments: Arguments, output: Output) -> int:
    """Lines as they come; after a break it goes on where it was."""
    at: dict[str, Any] = {}

    def write(item: dict[str, Any]) -> None:
        at["after"] = item["cursor"]
        output.out.write("".join(f"{line}\n" for line in item["lines"]))

    def rest(before: dict[str, Any]) -> dict[str, Any]:
        return {**before, **at}

    request = {"folder": _here(), **arguments.request}
    Client(find_home()).call(command.operation, request, each=write, again=rest)
    output.out.flush()
    return 0


def bring_in(command: Command, arguments: Arguments, output: Output) -> int:
    """The daemon reads the file by itself, so that it may be of any size; what is no file is put into one first."""
    name = arguments.request["file"]
    if name != "-" and _is_regular(name):
        return _change(command, arguments, output, {"file": os.path.abspath(name)})
    home = find_home()
    make_folders(home)
    with tempfile.NamedTemporaryFile(dir=home.state, prefix="import-") as spool:
        _copy(name, spool)
        spool.flush()
        return _change(command, arguments, output, {"file": spool.name, "called": name})


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _copy(name: str, into: IO[bytes]) -> None:
    try:
        if name == "-":
            shutil.copyfileobj(sys.stdin.buffer, into)
        else:
            with open(name, "rb") as source:
                shutil.copyfileobj(source, into)
    except OSError as error:
        raise _unreadable(name, error) from None


def _unreadable(path: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or str(error)
    return InputError(Code.BAD_INPUT, f"{path[:200]!a} cannot be read: {why}", "name a file that lamp export wrote")


def _text(given: str) -> str:
    """What was typed; standard input for a dash."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    return data.decode("utf-8", "replace")


def _here() -> str | None:
    """The caller's folder, while there is one."""
    try:
        return os.getcwd()
    except OSError:
        return None
