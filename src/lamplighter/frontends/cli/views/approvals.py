"""What agents ask the operator for: as a list, and one in full, as it is decided on."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Span, Table, TextLine, facts
from lamplighter.frontends.cli.display.format import ago, clean, command_line, instant, named
from lamplighter.frontends.cli.views.sessions import verdict_and_evidence

_TMUX_ACTS = {"type_in_tmux": "type into", "read_tmux": "read the screen of", "kill_tmux": "kill"}
_ACTS = {
    "send_input": "send to",
    "end_session": "end",
    "kill_session": "kill",
    "cleanup_sessions": "end",
    "use_tool": "use a tool in",
    "read_output": "read the output of",
    "read_history": "read the history of",
    "read_capture": "read a transcript of",
    "wait_session": "wait for the output of",
    **_TMUX_ACTS,
}
_ROWS_SHOWN = 5
_STYLES = {"asked": "warn", "granted": "good", "refused": "bad"}


def listed(result: dict[str, Any]) -> list[Block]:
    """Those that are open; the last line says how to decide."""
    found: list[dict[str, Any]] = result["approvals"]
    if not found:
        return [TextLine("nobody asks for anything")]
    now = time.time()
    rows = [_cells(request, now) for request in found]
    return [
        Table(("id", "state", "left", "who asks", "to", "session", "reason"), rows, ("left",)),
        TextLine("to see one in full and decide: ", (f"lamp approve {clean(found[0]['id'])}", "strong")),
    ]


def _cells(request: dict[str, Any], now: float) -> list[Span | str]:
    arguments: dict[str, Any] = request["arguments"] or {}
    return [
        clean(request["id"]),
        _state(request),
        _left(request, now),
        _who(request),
        _act(request),
        (_meant(request), "strong"),
        (clean(arguments.get("reason") or ""), "dim"),
    ]


def full(request: dict[str, Any], tree: list[dict[str, Any]]) -> list[Block]:
    """All that a person needs to know before deciding, nothing of it cut."""
    now = time.time()
    asker: dict[str, Any] | None = request["asker"]
    arguments: dict[str, Any] = request["arguments"] or {}
    pairs: list[tuple[str, Span | str]] = [
        ("request", clean(request["id"])),
        ("state", _state(request)),
        ("who asks", (_who(request), "strong")),
    ]
    if asker:
        pairs.append(("its command", command_line(asker["command"])))
    pairs.append(("wants to", (f"{_act(request)} {_meant(request)}", "strong")))
    rows: list[dict[str, Any]] = arguments["rows"] if request.get("plan") and arguments else []
    pairs += [(f"  {clean(name)}", clean(value)) for name, value in arguments.items() if not (rows and name == "rows")]
    pairs += [("", f"{row['verdict']}  {named(row)}") for row in rows]
    pairs += _target(request["target"], tree)
    pairs += [
        ("not its own", clean(request["why"])),
        ("asked", ago(request["asked_at"], now)),
        ("holds until", f"{clean(request['expires_at'])}, {_left(request, now)} more; for this call alone, once"),
    ]
    return facts(pairs)


def _target(target: dict[str, Any] | None, tree: list[dict[str, Any]]) -> list[tuple[str, Span | str]]:
    if target is None:
        return []
    processes = [f"{process['pid']} {clean(process['command'])}" for process in tree]
    return [
        ("session", f"{clean(target['id'])}, {clean(target['kind'])}, {clean(target['state'])}"),
        ("its owner", clean(target["owner"])),
        ("its command", command_line(target["command"])),
        ("its verdict", verdict_and_evidence(target)),
        ("its processes", counted(target["processes"], "process", "processes")),
        *(("", process) for process in processes),
    ]


def decided(request: dict[str, Any]) -> list[Block]:
    """What was done."""
    what = f" {clean(request['id'])}: {_who(request)} may {'' if request['state'] == 'granted' else 'not '}"
    end = f", once, until {clean(request['expires_at'])}" if request["state"] == "granted" else ""
    return [TextLine(_state(request), what, f"{_act(request)} {_meant(request)}{end}")]


def _state(request: dict[str, Any]) -> Span:
    return clean(request["state"]), _STYLES.get(request["state"], "")


def _act(request: dict[str, Any]) -> str:
    return _ACTS.get(request["operation"], clean(request["operation"]))


def _who(request: dict[str, Any]) -> str:
    asker = request["asker"]
    return f"session {_named(asker)}" if asker else clean(request["caller"])


def _meant(request: dict[str, Any]) -> str:
    """The session; one of tmux that was made by hand is none of ours, and is called as tmux calls it."""
    arguments: dict[str, Any] = request["arguments"] or {}
    if request["target"] is None and request["operation"] in _TMUX_ACTS and arguments:
        return f"tmux session {clean(arguments['name'])}, made by hand"
    if request.get("plan"):
        if not arguments:
            return f"the sessions of {clean(request['plan'])}"
        rows, more = arguments["rows"], arguments.get("rows_left_out", 0)
        return f"{counted(len(rows) + more, 'session')}: {_listed(rows, more)}"
    return _named(request["target"])


def _listed(rows: list[dict[str, Any]], more: int) -> str:
    shown = rows[:_ROWS_SHOWN]
    more += len(rows) - len(shown)
    return ", ".join(clean(row["name"]) for row in shown) + (f" and {more} more" if more else "")


def _named(session: dict[str, Any] | None) -> str:
    return named(session) if session else "a session that is gone"


def _left(request: dict[str, Any], now: float) -> str:
    return format_duration(max(0.0, (instant(request["expires_at"]) or now) - now))
