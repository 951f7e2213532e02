"""The daemon, the machine, the logs that could go, and the audit log."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Table, TextLine, facts
from lamplighter.frontends.cli.display.format import clean, size

_MARKS = {"ok": ("ok", "good"), "note": ("note", "warn"), "bad": ("BAD", "bad")}


def status(result: dict[str, Any]) -> list[Block]:
    waiting = result.get("approvals", 0)
    asked = f"{counted(waiting, 'request')} for you: lamp approve"
    return facts(
        [
            ("daemon", (f"running, process {result['pid']}, version {clean(result['version'])}", "good")),
            ("since", clean(result["since"])),
            ("keeper", f"process {result['keeper']}" if result["keeper"] else ("not running", "bad")),
            ("sessions", f"{result['alive']} running, {result['ending']} ending, {result['ended']} ended"),
            ("guarantee", clean(result["guarantee"])),
            ("http", _http(result)),
            *([("page", clean(result["page"]))] if result.get("page") else []),
            ("state in", clean(result["home"])),
            ("you are", clean(result["caller"])),
            *([("asked", (asked, "warn"))] if waiting else []),
        ]
    )


def _http(result: dict[str, Any]) -> str | tuple[str, str]:
    if result.get("http"):
        return clean(result["http"])
    return (clean(result["http_problem"]), "bad") if result.get("http_problem") else "off"


def doctor(result: dict[str, Any]) -> list[Block]:
    longest = max((len(clean(check["name"])) for check in result["checks"]), default=0)
    blocks: list[Block] = []
    for check in result["checks"]:
        word, style = _MARKS.get(check["state"], (clean(check["state"]), "warn"))
        blocks.append(TextLine((f"{word:<5}", style), f" {clean(check['name']):<{longest}}  {clean(check['found'])}"))
        if check.get("mend"):
            blocks.append(TextLine(f"{'':<5} {'':<{longest}}  ", ("to mend: ", "strong"), clean(check["mend"])))
    return [*blocks, TextLine(), TextLine("a kill here proves: ", (clean(result["guarantee"]), "strong"))]


def prune(result: dict[str, Any]) -> list[Block]:
    kept = f"kept are {result['kept_days']} days and {size(result['kept_bytes'])}"
    if not result["sessions"]:
        return [TextLine(f"no log is past what is kept; {kept}")]
    rows = [
        [
            clean(row.get("id", "")),
            clean(row.get("name", "")),
            clean(row.get("ended_at", "")),
            size(row.get("bytes", 0)),
            clean(row.get("why", "")),
        ]
        for row in result["sessions"]
    ]
    count = counted(len(rows), "log")
    total = (
        f"deleted {count}, {size(result['bytes'])}"
        if result["applied"]
        else f"{count}, {size(result['bytes'])} would go with --apply"
    )
    return [Table(("id", "name", "ended", "size", "why"), rows, ("size",)), TextLine(f"{total}; {kept}")]


def events(result: dict[str, Any]) -> list[Block]:
    rows = [_event(event) for event in result["events"]]
    return [Table(("n", "at", "by", "action", "session", "detail"), rows, ("n",))]


def event_line(event: dict[str, Any]) -> str:
    """One event as it comes, when they are followed."""
    return "  ".join(_event(event)).rstrip()


def _event(event: dict[str, Any]) -> list[str]:
    named = f"{clean(event['name'])} ({clean(event['session'])})" if event["name"] else clean(event["session"])
    session = named if event["session"] else "-"
    detail = " ".join(f"{clean(name)}={_value(value)}" for name, value in event["detail"].items())
    return [
        "-" if event["n"] is None else str(event["n"]),
        clean(event["at"]),
        clean(event["by"]),
        clean(event["action"]),
        session,
        detail,
    ]


def _value(value: Any) -> str:
    text = clean(value)
    return text if text and " " not in text else repr(text)
