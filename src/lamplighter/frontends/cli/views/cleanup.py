"""A plan of a cleanup as a table, with the command that applies it; and what came of it, one line a row."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Span, Table, TextLine
from lamplighter.frontends.cli.display.format import clean, named, size
from lamplighter.frontends.cli.views.endings import gone, survivor
from lamplighter.frontends.cli.views.sessions import verdict

_TITLES = ("verdict", "quiet for", "memory", "procs", "id", "name", "why")
_LEAKS = ("leak", "age", "memory", "procs", "id", "name", "why")
_RIGHT = ("quiet for", "memory", "procs")
_LISTED = 10
_STYLES = {"ended": "good", "skipped": "warn", "survived": "bad", "failed": "bad"}


def plan(result: dict[str, Any]) -> list[Block]:
    """What would go; the last line says how to make it so."""
    blocks: list[Block] = []
    if result["rows"]:
        titles, right = (_LEAKS, ("age", *_RIGHT[1:])) if result.get("leaks") else (_TITLES, _RIGHT)
        blocks.append(Table(titles, [_cells(row) for row in result["rows"]], right))
    blocks += left_out(result)
    if not result["rows"]:
        nothing = "nothing that was left behind is" if result.get("leaks") else "nothing that may go matches"
        return [*blocks, TextLine(f"nothing to clean up: {nothing} {clean(result['selection'])}")]
    return [
        *blocks,
        TextLine(_total(result), " would go; within ten minutes: ", (_command(result), "strong")),
    ]


def _cells(row: dict[str, Any]) -> list[Span | str]:
    return [
        verdict(row),
        format_duration(row["quiet_for"]),
        size(row["memory"]),
        str(row["processes"]),
        clean(row["id"]),
        (clean(row["name"]), "strong"),
        ("; ".join(clean(word) for word in row["evidence"]), "dim"),
    ]


def _command(result: dict[str, Any]) -> str:
    return f"lamp cleanup --apply {clean(result['plan'])}"


def _total(result: dict[str, Any], sessions: str = "sessions") -> str:
    sums, row = result["sums"], "leak" if result.get("leaks") else "session"
    processes = counted(sums["processes"], "process", "processes")
    return f"{counted(sums[sessions], row)}, {processes}, {size(sums['memory'])}"


def left_out(result: dict[str, Any]) -> list[Block]:
    """What matches but is not in the plan, each with why."""
    shown = result["left_out"][:_LISTED]
    blocks: list[Block] = [TextLine(("left out ", "dim"), f"{named(one)}: {clean(one['why'])}") for one in shown]
    more = len(result["left_out"]) - len(shown)
    if more:
        blocks.append(TextLine((f"left out {counted(more, 'more session')}; --json lists them all", "dim")))
    return blocks


def row(done: dict[str, Any]) -> TextLine:
    """What came of one row."""
    outcome = done["outcome"]
    return TextLine(
        (clean(outcome), _STYLES.get(outcome, "")),
        f" {named(done)}: ",
        _what(done),
        loud=outcome in ("survived", "failed"),
    )


def _what(done: dict[str, Any]) -> str:
    certificate: dict[str, Any] | None = done.get("certificate")
    if done["outcome"] == "survived" and certificate:
        return "; ".join(survivor(item) for item in certificate["survivors"]) or clean(done["why"])
    if done["outcome"] != "ended" or not certificate:
        return clean(done["why"])
    return gone(certificate)


def sums(result: dict[str, Any]) -> list[Block]:
    """The last line of an apply."""
    counts = result["sums"]
    rest = [f"{counts[name]} {name}" for name in ("skipped", "survived", "failed") if counts[name]]
    text = "; ".join([f"ended {_total(result, 'ended')}", *rest])
    return [TextLine((text, "bad" if counts["survived"] or counts["failed"] else "strong"))]
