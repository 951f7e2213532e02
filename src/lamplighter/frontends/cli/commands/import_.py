"""`lamp import`: records from a file that `lamp export` wrote."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from typing import IO, Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.daemon_client import DaemonClient, make_folders
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.records import imported
from lamplighter.home import find_home


class ImportCommand(Command):
    name = "import"
    examples = (
        "lamp import records.jsonl",
        "ssh desk lamp export | lamp import -",
    )
    notes = "With - as FILE, import reads standard input."

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """The daemon reads the file by itself, so that it may be of any size; what is no file is put into one first."""
        name, home = arguments.request["file"], find_home()

        def ask(request: dict[str, Any]) -> int:
            output.show(DaemonClient(home).call(self.operation, request, arguments.key), imported)
            return 0

        if name != "-" and _is_regular(name):
            return ask({"file": os.path.abspath(name)})
        make_folders(home)
        with tempfile.NamedTemporaryFile(dir=home.state, prefix="import-") as spool:
            _copy(name, spool)
            spool.flush()
            return ask({"file": spool.name, "called": name})


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
