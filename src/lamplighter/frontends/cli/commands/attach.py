"""`lamp attach`: a person at a session's terminal."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from lamplighter.errors import Code, InputError, LampError, UnavailableError
from lamplighter.frontends.cli.caller_context import terminal_size
from lamplighter.frontends.cli.command import Command, client_option
from lamplighter.frontends.cli.display.format import clean, exit_words
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import number_of
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.terminal.attachment import AttachOutcome, SessionRoute
from lamplighter.frontends.cli.terminal.raw_terminal import Terminal, is_terminal, key_named
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.frontends.cli.terminal.viewer import Viewer
from lamplighter.home import find_home

_SIGNALS = ("WINCH", "CONT", "INT", "TERM", "HUP", "QUIT")


class AttachCommand(Command):
    name = "attach"
    client_options = (
        client_option(
            "detach_key",
            "--detach-key",
            "key that detaches, such as C-x or C-]; none disables it",
            type="string",
            default="C-\\",
        ),
    )
    examples = (
        "lamp attach claude",
        "lamp attach --read-only --detach-key C-] claude",
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """Until the person detaches or the session ends. With --json the document comes after that."""
        request = dict(arguments.request)
        detach = key_named(arguments.options.get("detach_key", "C-\\"))
        if not is_terminal():
            raise InputError(
                Code.BAD_INPUT,
                "attach needs a terminal on standard input and output",
                "to watch from a script: lamp read ID --follow",
            )
        request |= terminal_size()
        way = SessionRoute(find_home(), request)
        try:
            found = way.go()
        except LampError as error:
            if error.code is Code.NOT_ATTACHABLE and "command" in error.details:
                become_tmux(error.details)
            raise
        with Signals(_SIGNALS) as signals, Terminal() as terminal:
            read_only = bool(request.get("read_only"))
            outcome = Viewer(way, found, terminal, signals, detach=detach, read_only=read_only).watch()
        return _tell(found.result, outcome, output)


def become_tmux(place: dict[str, Any]) -> None:
    """A session that is in tmux is attached to by tmux itself: this process becomes that. From inside the same server its
    client is switched there, as tmux does not attach to itself."""
    command: list[str] = place["command"]
    if os.environ.get("TMUX", "").partition(",")[0] == place["socket"]:
        command = ["tmux", "-S", place["socket"], "switch-client", "-t", f"={place['name']}"]
    with contextlib.suppress(OSError):  # no tmux on this PATH: the error says what to do
        os.execvp(command[0], command)


def _tell(session: dict[str, Any], outcome: AttachOutcome, output: CommandOutput) -> int:
    name = clean(session["name"])
    if outcome.how == "lost":
        raise UnavailableError(
            Code.HOLDER_UNREACHABLE,
            f"the way to {name} was lost, and not found again",
            f"lamp show {clean(session['id'])} says what became of it",
        )
    if output.as_json:
        output.document({"id": session["id"], "name": session["name"], "how": outcome.how, "exit": outcome.exit})
    elif outcome.how == "ended":
        output.out.write(f"[{name} ended: {exit_words(outcome.exit)}]\n")
        output.out.write(f"its last screen: lamp read {clean(session['id'])}\n")
    elif not output.out.closed:
        output.out.write(f"[detached from {name}]\n")
    output.out.flush()
    return 128 + number_of(outcome.signal) if outcome.how == "stopped" else 0
