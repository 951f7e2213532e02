"""One session in full: facts, process tree, ending."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Branch, Forest, Span, TextLine, facts, grow
from lamplighter.frontends.cli.display.format import age, ago, clean, command_line, cpu, exit_words, size
from lamplighter.frontends.cli.views.endings import proof, survived
from lamplighter.frontends.cli.views.handoffs import left, summary
from lamplighter.frontends.cli.views.sessions import verdict_and_evidence


def show(session: dict[str, Any]) -> list[Block]:
    blocks = facts(_facts(session, time.time()))
    if session["tree"]:
        blocks += [TextLine(), TextLine(("processes", "strong")), _processes(session["tree"])]
    if session.get("survivors"):
        blocks += [TextLine(), *survived(session["survivors"], loud=False)]
    if session["ending"]:
        blocks += [TextLine(), *_ending(session["ending"])]
    if session.get("handoff"):
        blocks += [TextLine(), *left(session["handoff"])]
    if session["ending"]:
        blocks += summary(session["ending"].get("summary") or {}, full=True)
    return blocks


def _facts(session: dict[str, Any], now: float) -> list[tuple[str, Span | str]]:
    pairs: list[tuple[str, Span | str]] = [
        ("id", clean(session["id"])),
        ("name", (clean(session["name"]), "strong")),
        ("state", clean(session["state"])),
        ("verdict", verdict_and_evidence(session)),
        ("command", command_line(session["command"])),
        ("folder", clean(session["cwd"])),
        ("kind", f"{clean(session['kind'])}, {clean(session['agent'])}, {clean(session['driver'])}"),
        ("owner", clean(session["owner"])),
        ("parent", clean(session["parent"] or "-")),
        ("children", " ".join(map(clean, session["children"])) or "-"),
        *((name, clean(session[name])) for name in ("predecessor", "successor") if session.get(name)),
        ("age", age(session, now)),
        (
            "uses",
            f"{size(session['memory'])}, {cpu(session['cpu'])} of CPU, "
            f"{counted(session['processes'], 'process', 'processes')}",
        ),
        *(
            [("tokens", ", ".join(f"{count:,} {clean(kind)}" for kind, count in session["tokens"].items()))]
            if session.get("tokens")
            else []
        ),
        *([("conversation", clean(session["conversation"]["id"]))] if session.get("conversation") else []),
        ("output", f"{size(session['output'])}, {_last(session, 'last_output_at', now)}"),
        ("input", _last(session, "last_input_at", now)),
        ("limits", _limits(session["limits"])),
        ("attached", str(session["attached"])),
        ("guarantee", clean(session["guarantee"])),
        ("log", clean(session["folder"])),
    ]
    if session.get("tmux"):
        place = session["tmux"]
        pairs.append(
            ("tmux", f"{clean(place.get('name'))}, pane {clean(place.get('pane'))}, {clean(place.get('socket'))}")
        )
    if session["project"]:
        pairs.append(("project", clean(session["project"])))
    pairs += [(name, (words, "warn")) for name, words in _marks(session)]
    return pairs


def _marks(session: dict[str, Any]) -> list[tuple[str, str]]:
    """What is out of the ordinary about it."""
    marks = [
        *(("warned", f"{clean(reason)}; it is about to be ended") for reason in session["warnings"]),
        ("protected", "yes: no cleanup and no agent may end it") if session["protected"] else None,
        ("kept", "what it leaves behind goes on") if session["keep_children"] else None,
        ("holder", "its first holder was lost, so an end of it is best_effort") if session["holder_lost"] else None,
        ("ending", f"wanted by {clean(session['intent'].get('by', '?'))}")
        if session["intent"] and not session["ending"]
        else None,
        ("exit", exit_words(session["exit"])) if session["exit"] and not session["ending"] else None,
    ]
    return [mark for mark in marks if mark]


def _last(session: dict[str, Any], name: str, now: float) -> str:
    """Of one that has ended without this on record, nobody can say that it never was."""
    if session[name] is None and session["state"] == "ended":
        return "last time not known" if name == "last_output_at" and session["output"] else "none known"
    return f"last {ago(session[name], now)}"


def _limits(limits: dict[str, Any]) -> str:
    shown = [
        f"idle {format_duration(limits['idle'])}" if limits["idle"] else "",
        f"age {format_duration(limits['age'])}" if limits["age"] else "",
        f"memory {size(limits['memory'])}" if limits["memory"] else "",
    ]
    return ", ".join(word for word in shown if word) or "none"


def _processes(tree: list[dict[str, Any]]) -> Forest:
    nodes = {str(process["pid"]): Branch(*_process(process)) for process in tree}
    return Forest(grow(nodes, {str(process["pid"]): str(process["parent"]) for process in tree}))


def _process(process: dict[str, Any]) -> list[Span | str]:
    return [
        (str(process["pid"]), "strong"),
        f" {clean(process['state'])} {size(process['memory'])} {cpu(process['cpu'])} ",
        clean(process["command"]),
    ]


def _ending(ending: dict[str, Any]) -> list[Block]:
    pairs: list[tuple[str, Span | str]] = [
        ("ended", f"{clean(ending['at'])} ({clean(ending['how'])}, {exit_words(ending['exit'])})"),
        ("by", clean(ending["by"])),
    ]
    if ending["reason"]:
        pairs.append(("reason", clean(ending["reason"])))
    return [*facts(pairs), *proof(ending["certificate"], full=True)]
