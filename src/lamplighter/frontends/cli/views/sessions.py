"""Sessions in lists and trees, and what `lamp` alone says."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Branch, Forest, Span, Table, TextLine, grow
from lamplighter.frontends.cli.display.format import age, clean, command_line, cpu, size

Session = dict[str, Any]

_VERDICTS = {
    "working": "good",
    "waiting": "warn",
    "unknown": "warn",
    "stuck": "bad",
    "orphaned": "bad",
    "leftovers": "bad",
    "idle": "dim",
    "finished": "dim",
    "ended": "dim",
}
_TITLES = ("id", "name", "driver", "verdict", "because", "age", "memory", "cpu", "procs", "command")
_RIGHT = ("age", "memory", "cpu", "procs")
_FIRST_STEPS = (
    ("lamp start -- claude", "start an agent, or any command, as a session"),
    ("lamp read claude", "see its screen as it is now; lamp attach claude to be at it"),
    ("lamp end claude", "end it, and get proof that nothing of it is left"),
)


def verdict(session: Session) -> Span:
    return clean(session["verdict"]), _VERDICTS.get(session["verdict"], "")


def verdict_and_evidence(session: Session) -> Span:
    word, style = verdict(session)
    evidence = "; ".join(map(clean, session["evidence"]))
    return (f"{word}: {evidence}" if evidence else word, style)


def table(sessions: list[Session]) -> Table:
    now = time.time()
    return Table(_TITLES, [_row(session, now) for session in sessions], _RIGHT, soft="because")


def _row(session: Session, now: float) -> list[Span | str]:
    return [
        clean(session["id"]),
        (clean(session["name"]), "strong"),
        (clean(session["driver"]), "dim"),
        (session["state"], "warn") if session["state"] in ("starting", "ending") else verdict(session),
        (clean(session["evidence"][0]) if session["evidence"] else "-", "dim"),
        age(session, now),
        size(session["memory"]),
        cpu(session["cpu"]),
        str(session["processes"]),
        (command_line(session["command"]), "dim"),
    ]


def ls(result: dict[str, Any]) -> list[Block]:
    """A table; its titles also when it is empty, so that a program sees the same columns always."""
    blocks: list[Block] = [table(result["sessions"])]
    if result.get("left_out"):
        blocks.append(TextLine(f"{counted(result['left_out'], 'more session')} not shown", loud=True))
    if result.get("notice"):
        blocks.append(TextLine(result["notice"], loud=True))
    return blocks + by_hand(result)


def by_hand(result: dict[str, Any]) -> list[Block]:
    """tmux sessions that no session stands for; nothing when there are none."""
    found: list[dict[str, Any]] = result.get("by_hand", [])
    if not found:
        return []
    titles = ("id", "windows", "panes", "attached", "memory", "procs", "commands")
    rows = [
        [
            (clean(made["id"]), "strong"),
            *(str(made[name]) for name in ("windows", "panes", "attached")),
            size(made["memory"]),
            str(made["processes"]),
            (clean(", ".join(made["commands"])), "dim"),
        ]
        for made in found
    ]
    hint = f"lamp adopt {command_line([found[0]['id']])}"
    return [
        TextLine(),
        TextLine(("made by hand (tmux)", "strong"), (f": {hint} takes one under management", "dim")),
        Table(titles, rows, titles[1:6]),
    ]


def tree(result: dict[str, Any]) -> list[Block]:
    """Parents above their children; one whose parent is not in the list stands at the left."""
    now = time.time()
    branches = {session["id"]: Branch(*_label(session, now)) for session in result["sessions"]}
    parents = {session["id"]: session["parent"] for session in result["sessions"]}
    if not branches:
        return [TextLine("no session runs"), *by_hand(result)]
    return [Forest(grow(branches, parents)), *by_hand(result)]


def _label(session: Session, now: float) -> list[Span | str]:
    return [
        (clean(session["name"]), "strong"),
        (f" ({clean(session['id'])})  ", "dim"),
        verdict(session),
        f"  {age(session, now)}  {size(session['memory'])}  {counted(session['processes'], 'process', 'processes')}  ",
        (command_line(session["command"]), "dim"),
    ]


def overview(result: dict[str, Any]) -> list[Block]:
    """`lamp` alone: what runs, what waits for you, what to do next."""
    sessions: list[Session] = result["sessions"]
    if not sessions:
        longest = max(len(words) for words, _ in _FIRST_STEPS)
        steps = [TextLine((f"  {words:<{longest}}", "strong"), f"  {why}") for words, why in _FIRST_STEPS]
        return [
            TextLine("No sessions running. Three commands to try:"),
            TextLine(),
            *steps,
            *by_hand(result),
            *_unsucceeded(result),
            TextLine(),
            TextLine("lamp --help shows the others."),
        ]
    memory = sum(session["memory"] for session in sessions)
    head = f"{counted(len(sessions), 'session')}, {size(memory)}"
    next_steps = [step for session in sessions for step in _next_steps(session)]
    blocks: list[Block] = [TextLine((head, "strong")), TextLine(), table(sessions)]
    if next_steps:
        blocks += [TextLine(), TextLine(("waits for you", "strong")), *next_steps, *_cleanup(sessions)]
    return [
        *blocks,
        *_unsucceeded(result),
        *by_hand(result),
        TextLine(),
        TextLine(("lamp attach ID to be at one, lamp show ID for all about it, lamp --help for the rest", "dim")),
    ]


def _unsucceeded(result: dict[str, Any]) -> list[Block]:
    """Sessions that said that somebody must go on from them."""
    waiting = result.get("waiting")
    if not waiting:
        return []
    head = "needs a successor" if len(waiting) == 1 else "need a successor"
    return [
        TextLine(),
        TextLine((f"{counted(len(waiting), 'hand-off')} {head}", "strong")),
        *(TextLine("  ", (f"lamp start --from {clean(session)} -- COMMAND", "warn")) for session in waiting[:5]),
    ]


def _cleanup(sessions: list[Session]) -> list[Block]:
    """The one command for all that could go."""
    verdicts = {session["verdict"] for session in sessions if session["state"] != "ending"}
    if verdicts & {"orphaned", "leftovers", "finished"}:
        return [TextLine("  ", ("lamp cleanup", "strong"), " shows what could go, and ends it once you apply that")]
    if "stuck" in verdicts:
        return [
            TextLine("  ", ("lamp cleanup stuck", "strong"), " shows what is stuck, and ends it once you apply that")
        ]
    return []


def _next_steps(session: Session) -> list[Block]:
    name, what = clean(session["name"]), session["verdict"]
    step = {
        "waiting": ("waits for input", f"lamp attach {name}"),
        "stuck": ("seems stuck", f"lamp read {name}"),
        "orphaned": ("has lost its parent", f"lamp end {name}"),
        "leftovers": ("has exited and left processes", f"lamp end {name}"),
        "finished": ("is done but still there", f"lamp end {name}"),
    }.get(what)
    if session["state"] == "ending":
        step = ("is being ended and something of it is still alive", f"lamp show {name}")
    if step is None:
        return []
    return [TextLine("  ", (name, "strong"), f" {step[0]}: ", (step[1], "warn" if what == "waiting" else "bad"))]
