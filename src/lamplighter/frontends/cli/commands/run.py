"""`lamp run`: a command in the foreground, as cron and CI want it, with nothing of it left when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.limits import limit_in
from lamplighter.errors import Code, LampError, UnavailableError
from lamplighter.frontends.cli.command import Document, Field
from lamplighter.frontends.cli.commands.start import WORDS_AFTER, StartCommand
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.format import clean, command_line
from lamplighter.frontends.cli.display.output import CommandOutput, silence
from lamplighter.frontends.cli.exit_status import (
    BROKEN_PIPE,
    MEMORY_LIMIT,
    STATUS,
    TIME_LIMIT,
    number_of,
    status_of_exit,
)
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.terminal.attachment import AttachOutcome, SessionRoute
from lamplighter.frontends.cli.terminal.raw_terminal import Terminal, is_terminal
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.frontends.cli.terminal.stdio_relay import StdioRelay
from lamplighter.frontends.cli.terminal.viewer import Viewer
from lamplighter.frontends.cli.views.endings import left_behind
from lamplighter.home import Home, find_home

_PATIENCE = 10.0
_LIMITERS = ("patrol", "lamplighter")  # the second says what the kernel did
_PASSED_ON = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2")


class RunCommand(StartCommand):
    name = "run"
    operation = "start_session"
    summary = "Run a command in the foreground, for cron and CI, and end everything it leaves behind."
    details = (
        "run passes standard streams through byte by byte, and passes signals on. The exit status is the command's "
        "own, or 128 + n when signal n ended it. What the command leaves behind is ended and reported on standard "
        "error. On a terminal, the command gets a terminal. With --json, the document is the last line of standard "
        "error, because standard output is the command's. If this client goes away, the session ends."
    )
    elsewhere = {
        **dict.fromkeys(
            ("-d", "--detach", "--background"), "lamp start runs it in the background; run waits for the command"
        ),
        **dict.fromkeys(("-i", "-t", "-it"), "run needs no such option: on a terminal the command gets one"),
    }
    examples = (
        "lamp run -- make test",
        "lamp run --timeout 10m -- make test",
        "lamp run --name cron:nightly -- ./report.py > report.txt",
    )
    notes = (
        f"{WORDS_AFTER} run keeps limits to the second and without a warning: the command gets TERM, then KILL after the setting "
        "grace. Standard error says why, and the exit status is 124, or 125 for memory. With start, the patrol keeps "
        "limits, and warns first."
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        """Without tmux, which has a terminal of its own."""
        return [_in_foreground(field) for field in super().make_fields(operations) if field["name"] != "tmux"]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """The command's own exit status; what it left behind on standard error."""
        home = find_home()
        headless = bool(arguments.request.get("headless")) or not is_terminal()
        request = self.complete({**arguments.request, "headless": headless, "bound": True})
        with Signals((*_PASSED_ON, "WINCH", *(() if headless else ("CONT",)))) as signals:
            started = DaemonClient(home).call(self.operation, request, arguments.key)
            way = SessionRoute(home, {"session": started["id"], "bound": True})
            outcome = _headless(way, signals, request) if headless else _on_terminal(way, signals, request)
        why = _limit_passed(home, started, outcome)
        return _report(started, outcome, why, request["command"], output)


_FOREGROUND_LIMITS = {
    "idle_limit": "end it after this long without activity, to the second: 30s, 8h; exit status 124",
    "max_age": "end it after this long, to the second: 90s, 2h; exit status 124",
    "max_memory": "end it when its process tree uses more memory than this: 500M, 2G; exit status 125",
}


def _in_foreground(field: Field) -> Field:
    """Where somebody waits, a limit is kept at once, and --timeout is the word for one."""
    words = _FOREGROUND_LIMITS.get(field["name"])
    if words is None:
        return field
    spelt = {"option": "--timeout", "also": ["--max-age"]} if field["name"] == "max_age" else {}
    return {**field, **spelt, "description": words}


def _headless(way: SessionRoute, signals: Signals, request: dict[str, Any]) -> AttachOutcome:
    return StdioRelay(way, way.go(), signals, keep_children=bool(request.get("keep_children"))).carry()


def _on_terminal(way: SessionRoute, signals: Signals, request: dict[str, Any]) -> AttachOutcome:
    found = way.go(rows=request["rows"], cols=request["cols"])
    with Terminal() as terminal:
        return Viewer(way, found, terminal, signals, detach=None, inline=True, pass_on=_PASSED_ON).watch()


def _limit_passed(home: Home, started: dict[str, Any], outcome: AttachOutcome) -> str:
    """Why a limit of its own ended it, if one did. Of what ended by itself nothing is asked."""
    processes: list[dict[str, Any]] = (outcome.certificate or {}).get("processes", [])
    made_to = "signal" in (outcome.exit or {}) or any(one["pid"] == started["pid"] for one in processes)
    if outcome.how != "ended" or not made_to:
        return ""
    session, client = started["id"], DaemonClient(home, patience=_PATIENCE, limit=_PATIENCE)
    try:
        client.call("wait_session", {"session": session, "timeout": f"{_PATIENCE:.0f}s"})
        ending: dict[str, Any] = client.call("get_session", {"session": session})["ending"] or {}
    except LampError:
        return ""  # no daemon to say: the command's own status and its certificate are all there is
    return str(ending.get("reason") or "") if ending.get("by") in _LIMITERS else ""


def _report(started: dict[str, Any], outcome: AttachOutcome, why: str, words: list[str], output: CommandOutput) -> int:
    if outcome.how == "broken":
        silence()
        return BROKEN_PIPE
    if outcome.how == "lost":
        raise UnavailableError(
            Code.HOLDER_UNREACHABLE,
            f"the way to {clean(started['name'])} was lost, and not found again",
            f"lamp show {started['id']}",
        )
    for line in _gaps(outcome):
        output.note(line)
    limit = limit_in(why)
    if limit is not None:
        output.note(f"lamp: ended {command_line(words[:1])}: {clean(why)}")
    for line in left_behind(outcome.certificate, started["pid"], command_line(words[:1])):
        output.note(line)
    if output.as_json:
        known = {"id": started["id"], "name": started["name"], "exit": outcome.exit, "certificate": outcome.certificate}
        output.document({**known, "limit": limit}, output.err, line=True)
    if outcome.how == "stopped":
        return 128 + number_of(outcome.signal)
    if limit is not None:
        return MEMORY_LIMIT if limit == "memory" else TIME_LIMIT
    status = status_of_exit(outcome.exit)
    survived = bool(outcome.certificate and outcome.certificate["survivors"])
    return STATUS[Code.SURVIVORS] if survived and not status else status


def _gaps(outcome: AttachOutcome) -> list[str]:
    """What happened to output while the session's holder was lost. Nothing in every other case."""
    lines: list[str] = []
    if outcome.recovered:
        lines.append(
            f"lamp: the session's holder was lost; {outcome.recovered} bytes, standard error too, came from the log"
        )
    if outcome.lost:
        lines.append(f"lamp: {outcome.lost} bytes of output were lost with the session's holder")
    return lines
