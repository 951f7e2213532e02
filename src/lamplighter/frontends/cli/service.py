"""The daemon itself: up, status, down. `status` starts nothing, and `down` only what it needs to end sessions."""

from __future__ import annotations

import os
import sys
from typing import Any

from lamplighter.domain.counting import counted
from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.ask import present
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, as_error, new_key
from lamplighter.frontends.cli.output import Output
from lamplighter.frontends.cli.statuses import DECLINED, STATUS
from lamplighter.home import Home, find_home


def up(command: Command, arguments: Arguments, output: Output) -> int:
    if arguments.options.get("foreground"):
        from lamplighter.frontends.cli.foreground import stay

        return stay(find_home(), output)
    client = Client(find_home())
    result = client.call(command.operation, arguments.request)
    present("up", {**result, "page": _page(client, result)}, output)
    return 0


def _page(client: Client, status: dict[str, Any]) -> str | None:
    """A link to the page, for the operator."""
    if not status["http"] or status["caller"] != "operator":
        return None
    from lamplighter.frontends.cli.page import link

    return link(client)["url"]


def status(command: Command, arguments: Arguments, output: Output) -> int:
    client = Client(find_home(), start=False, patience=5.0)
    present("status", client.call(command.operation, arguments.request), output)
    return 0


def down(command: Command, arguments: Arguments, output: Output) -> int:
    """Stop the daemon; with --all, end every session first, after asking."""
    home = find_home()
    request = dict(arguments.request)
    everything = bool(request.get("all"))
    running = is_running(home)
    if not running and not (everything and may_have_sessions(home)):
        _tell(output, {"ended": [], "alive": 0}, "the daemon is not running")
        return 0
    if everything and not arguments.options.get("yes"):
        alive = _declined(home, output)
        if alive is not None:
            if not running:  # it was started for the question alone
                Client(home, start=False).call(command.operation, {}, new_key())
            _tell(output, {"ended": [], "alive": alive}, "nothing was ended")
            return DECLINED
    # Once asked, an ending goes on to its end: the daemon may be started again for that, and is stopped after it.
    client = Client(home, start=everything)
    result = client.call(command.operation, request, arguments.options.get("key") or new_key())
    if client.tries > 1 and everything and is_running(home):
        Client(home, start=False).call(command.operation, {}, new_key())
    present("down", result, output)
    return _worst(result)


def _tell(output: Output, result: dict[str, Any], words: str) -> None:
    if output.as_json:
        output.document(result)
    else:
        output.note(words)


def is_running(home: Home) -> bool:
    from lamplighter.holder.boot import try_connect

    found = try_connect(home.run, home.state)
    if found is not None:
        found.close()
    return found is not None


def may_have_sessions(home: Home) -> bool:
    """Without a daemon, `down --all` must not look as if it had ended what runs: then one is started to end it."""
    from lamplighter.holder.places import runs

    for run in runs(home.run, home.state):
        try:
            if os.listdir(f"{run}/s"):
                return True
        except OSError:
            continue
    return _has_shims(home)


def _has_shims(home: Home) -> bool:
    """Whether a shim of this home lives, whose socket was taken away."""
    from lamplighter.holder import proc

    found = (stat for stat in proc.scan().values() if stat.name == b"lamp-shim")
    return any(home.state in proc.words_of(stat.pid) for stat in found)


def _declined(home: Home, output: Output) -> int | None:
    """None after a yes on the terminal; else how many sessions go on. Without a terminal: BAD_INPUT."""
    if not (sys.stdin is not None and sys.stdin.isatty() and output.err.isatty()):
        raise InputError(
            Code.BAD_INPUT,
            "down --all ends every session, and there is no terminal to ask on",
            "add --yes if that is meant",
        )
    alive = int(Client(home).call("get_status", {})["alive"])
    answer = ""
    try:
        output.err.write(f"End {counted(alive, 'session')} and stop the daemon? [y/N] ")
        output.err.flush()
        answer = sys.stdin.readline()
    finally:
        if not answer.endswith("\n"):  # Ctrl-C or Ctrl-D: what comes next begins on a line of its own
            output.note("")
    return None if answer.strip().lower() in ("y", "yes") else alive


def _worst(result: dict[str, Any]) -> int:
    """The status for a list of endings: survivors first, then the first error."""
    rows: list[dict[str, Any]] = result["ended"]
    if any(row["certificate"]["survivors"] for row in rows if row.get("certificate")):
        return STATUS[Code.SURVIVORS]
    errors = [row["error"] for row in rows if row.get("error")]
    return STATUS[as_error(errors[0]).code] if errors else 0
