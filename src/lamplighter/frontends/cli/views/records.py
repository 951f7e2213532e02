"""Records: as they were stored, found, listed and closed; one a line, the id first."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Span, Table, TextLine
from lamplighter.frontends.cli.display.format import ago, clean

_STATES = {"active": "good", "resolved": "dim", "superseded": "warn", "forgotten": "bad"}


def remembered(result: dict[str, Any]) -> list[Block]:
    fresh = result["stored"] == len(result["records"])
    lines: list[Block] = [
        TextLine(("remembered " if fresh else "known already ", "good" if fresh else "warn"), *_brief(record))
        for record in result["records"]
    ]
    return [*lines, *_taken_out(result)]


def recalled(result: dict[str, Any]) -> list[Block]:
    """Records first, then sessions, each said to be what it is."""
    now = time.time()
    blocks: list[Block] = []
    if result["records"]:
        blocks.append(_table(result["records"], now))
    if result["sessions"]:
        blocks += [TextLine(("sessions that have ended", "strong"))] if result["records"] else []
        rows = [_session_cells(session, now) for session in result["sessions"]]
        blocks.append(Table(("session", "name", "ended", "project", "summary"), rows))
    if not blocks:
        return [TextLine(f"nothing fits{_where(result, 'lamp recall --all looks in every project')}")]
    return [*blocks, *_rest(result)]


def listed(result: dict[str, Any]) -> list[Block]:
    if not result["records"]:
        return [TextLine(f"nothing is kept{_where(result, 'lamp records --all shows every project')}")]
    return [_table(result["records"], time.time()), *_rest(result)]


def closed(result: dict[str, Any]) -> list[Block]:
    lines: list[Block] = [TextLine(_state(record), " ", *_brief(record)) for record in result["records"]]
    lines += [TextLine(("forgotten for good ", "bad"), clean(record)) for record in result["erased"]]
    if result["pending"]:
        lines.append(
            TextLine(
                "another process reads the store: free pages are written anew when the daemon starts next", loud=True
            )
        )
    return lines


def superseded(result: dict[str, Any]) -> list[Block]:
    new, old = result["records"]
    return [
        TextLine(("superseded ", "warn"), clean(old["id"]), " by ", *_brief(new)),
        *_taken_out(result),
    ]


def imported(result: dict[str, Any]) -> list[Block]:
    nouns = {"records": "record", "handoffs": "hand-off", "projects": "project"}
    new = [counted(result[name], noun) for name, noun in nouns.items()]
    return [
        TextLine(("imported ", "good"), ", ".join(new), f"; {counted(result['known'], 'line')} known already"),
        *_taken_out(result),
    ]


def _table(records: list[dict[str, Any]], now: float) -> Table:
    return Table(("id", "type", "age", "project", "state", "content"), [_cells(record, now) for record in records])


def _cells(record: dict[str, Any], now: float) -> list[Span | str]:
    return [
        clean(record["id"]),
        _type(record),
        ago(record["created_at"], now).removesuffix(" ago"),
        clean(record["project_name"] or "everywhere"),
        _state(record),
        _one_line(record["content"]) + "".join(f" ({clean(said)})" for said in record["stale"]),
    ]


def _session_cells(session: dict[str, Any], now: float) -> list[Span | str]:
    return [
        clean(session["id"]),
        (clean(session["name"]), "strong"),
        ago(session["ended_at"], now),
        clean(session["project_name"] or "-"),
        _one_line(session["summary"]),
    ]


def _type(record: dict[str, Any]) -> str:
    """What nobody confirmed yet is said to be so; and a loop that goes on and on, how often it was carried."""
    said = clean(record["type"])
    if record["source"] == "inferred":
        said += ", inferred"
    return f"{said}, carried {record['carried']} times" if record["carried"] >= 5 else said


def _state(record: dict[str, Any]) -> Span:
    return clean(record["state"]), _STATES.get(record["state"], "")


def _brief(record: dict[str, Any]) -> list[Span | str]:
    where = clean(record["project_name"] or "everywhere")
    return [(clean(record["id"]), "strong"), f" {clean(record['type'])}, {where}: {_one_line(record['content'])}"]


def _one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def _where(result: dict[str, Any], next_step: str) -> str:
    """Where was looked, when that was not everywhere."""
    return f" in {clean(result['project_name'])} or everywhere; {next_step}" if result["project_name"] else ""


def _rest(result: dict[str, Any]) -> list[Block]:
    left = result["total"] - len(result["records"])
    return [TextLine((f"{left} more; --limit and --offset show them", "dim"))] if left > 0 and result["records"] else []


def _taken_out(result: dict[str, Any]) -> list[Block]:
    lines: list[Block] = []
    if result["redacted"]:
        lines.append(TextLine(f"{counted(result['redacted'], 'secret')} taken out before it was stored", loud=True))
    if result["withheld"]:
        lines.append(TextLine(f"{counted(result['withheld'], 'private passage')} not stored", loud=True))
    return lines
