"""`lamp run`: a command in the foreground, as cron and CI want it, with nothing of it left when it is over."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.limits import limit_in
from lamplighter.errors import Code, LampError, UnavailableError
from lamplighter.frontends.cli.arguments import Arguments
from lamplighter.frontends.cli.attachment import Outcome, Way
from lamplighter.frontends.cli.catalogue import Command
from lamplighter.frontends.cli.client import Client, new_key
from lamplighter.frontends.cli.output import Output, silence
from lamplighter.frontends.cli.relay import Relay
from lamplighter.frontends.cli.requests import complete
from lamplighter.frontends.cli.signals import Signals, exit_status, number_of
from lamplighter.frontends.cli.statuses import BROKEN_PIPE, MEMORY_LIMIT, STATUS, TIME_LIMIT
from lamplighter.frontends.cli.terminal import Terminal, is_terminal
from lamplighter.frontends.cli.text import clean, command_line
from lamplighter.frontends.cli.viewer import Viewer
from lamplighter.frontends.cli.views.endings import left_behind
from lamplighter.home import Home, find_home

_PATIENCE = 10.0
_LIMITERS = ("patrol", "lamplighter")  # the second says what the kernel did
_PASSED_ON = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2")


def run(command: Command, arguments: Arguments, output: Output) -> int:
    """The command's own exit status; what it left behind on standard error."""
    home = find_home()
    headless = bool(arguments.request.get("headless")) or not is_terminal()
    request = complete(command.name, {**arguments.request, "headless": headless, "bound": True})
    with Signals((*_PASSED_ON, "WINCH", *(() if headless else ("CONT",)))) as signals:
        started = Client(home).call(command.operation, request, arguments.options.get("key") or new_key())
        way = Way(home, {"session": started["id"], "bound": True})
        outcome = _headless(way, signals, request) if headless else _on_terminal(way, signals, request)
    why = _limit_passed(home, started, outcome)
    return _report(started, outcome, why, request["command"], output)


def _headless(way: Way, signals: Signals, request: dict[str, Any]) -> Outcome:
    return Relay(way, way.go(), signals, keep_children=bool(request.get("keep_children"))).carry()


def _on_terminal(way: Way, signals: Signals, request: dict[str, Any]) -> Outcome:
    found = way.go(rows=request["rows"], cols=request["cols"])
    with Terminal() as terminal:
        return Viewer(way, found, terminal, signals, detach=None, inline=True, pass_on=_PASSED_ON).watch()


def _limit_passed(home: Home, started: dict[str, Any], outcome: Outcome) -> str:
    """Why a limit of its own ended it, if one did. Of what ended by itself nothing is asked."""
    processes: list[dict[str, Any]] = (outcome.certificate or {}).get("processes", [])
    made_to = "signal" in (outcome.exit or {}) or any(one["pid"] == started["pid"] for one in processes)
    if outcome.how != "ended" or not made_to:
        return ""
    session, client = started["id"], Client(home, patience=_PATIENCE, limit=_PATIENCE)
    try:
        client.call("wait_session", {"session": session, "timeout": f"{_PATIENCE:.0f}s"})
        ending: dict[str, Any] = client.call("get_session", {"session": session})["ending"] or {}
    except LampError:
        return ""  # no daemon to say: the command's own status and its certificate are all there is
    return str(ending.get("reason") or "") if ending.get("by") in _LIMITERS else ""


def _report(started: dict[str, Any], outcome: Outcome, why: str, words: list[str], output: Output) -> int:
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
    status = exit_status(outcome.exit)
    survived = bool(outcome.certificate and outcome.certificate["survivors"])
    return STATUS[Code.SURVIVORS] if survived and not status else status


def _gaps(outcome: Outcome) -> list[str]:
    """What happened to output while the session's holder was lost. Nothing in every other case."""
    lines: list[str] = []
    if outcome.recovered:
        lines.append(
            f"lamp: the session's holder was lost; {outcome.recovered} bytes, standard error too, came from the log"
        )
    if outcome.lost:
        lines.append(f"lamp: {outcome.lost} bytes of output were lost with the session's holder")
    return lines
