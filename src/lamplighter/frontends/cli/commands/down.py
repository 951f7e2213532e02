"""`lamp down`: stop the daemon; with --all every session first. A daemon is started only to end sessions."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, client_option
from lamplighter.frontends.cli.daemon_client import DaemonClient, is_running, may_have_sessions, new_key
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import DECLINED, status_of_several
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.endings import down as ended
from lamplighter.home import Home, find_home


class DownCommand(Command):
    name = "down"
    client_options = (client_option("yes", "--yes", "with --all: do not ask"),)
    examples = (
        "lamp down",
        "lamp down --all --yes",
    )
    notes = (
        "Does not start the daemon, except that --all needs one to end running sessions. --all asks first (exit "
        "status 9 when the answer is no); without a terminal it needs --yes."
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
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
                    DaemonClient(home, start=False).call(self.operation, {}, new_key())
                _tell(output, {"ended": [], "alive": alive}, "nothing was ended")
                return DECLINED
        # Once asked, an ending goes on to its end: the daemon may be started again for that, and is stopped after it.
        client = DaemonClient(home, start=everything)
        result = client.call(self.operation, request, arguments.key)
        if client.tries > 1 and everything and is_running(home):
            DaemonClient(home, start=False).call(self.operation, {}, new_key())
        output.show(result, ended)
        rows: list[dict[str, Any]] = result["ended"]
        survived = any(row["certificate"]["survivors"] for row in rows if row.get("certificate"))
        return status_of_several(rows, survived=survived)


def _tell(output: CommandOutput, result: dict[str, Any], words: str) -> None:
    if output.as_json:
        output.document(result)
    else:
        output.note(words)


def _declined(home: Home, output: CommandOutput) -> int | None:
    """None after a yes on the terminal; else how many sessions go on. Without a terminal: BAD_INPUT."""
    if not output.can_ask():
        raise InputError(
            Code.BAD_INPUT,
            "down --all ends every session, and there is no terminal to ask on",
            "add --yes if that is meant",
        )
    alive = int(DaemonClient(home).call("get_status", {})["alive"])
    answer = output.ask(f"End {counted(alive, 'session')} and stop the daemon? [y/N] ")
    return None if answer in ("y", "yes") else alive
