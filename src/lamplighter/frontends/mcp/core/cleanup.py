"""cleanup_sessions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.frontends.mcp.core.derivation import derived, given
from lamplighter.frontends.mcp.core.size import cut, fitting
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.cleanup import CleanUpSessions
from lamplighter.operations.operation import Request, Result

_MOST_SURVIVORS = 5
_ROW = ("id", "name", "verdict", "processes", "memory", "outcome")


class CleanedUp(Result):
    plan: str = Field(description="pass as apply")
    applied: bool
    sums: dict[str, Any]
    rows: list[dict[str, Any]] = Field(description="id, name, verdict, because; applied: outcome, why, certificate")
    not_in_plan: list[dict[str, Any]]


async def cleanup_sessions(conversation: ToolContext, request: Request) -> Answer:
    """End many sessions in two calls. Without apply nothing ends: you get a plan, each row with why. With apply=PLAN each row
    is checked again, skipped if it has changed, else ended politely, with a certificate.

    Use it before you finish: selection=mine. For one end_session or kill_session, to see processes outside of them scan_host.

    selection, older_than, force and others make the plan; grace and reason go with apply. Never in it (not_in_plan says
    why): your own session and those above, main, system and protected ones, people attached; without force those working,
    waiting or unknown; without others those not yours. Destroyed: processes, unsaved work. Kept: log, records, hand-off.
    Sessions that they started go on.

    PLAN_EXPIRED: after 10 minutes. PLAN_APPLIED: once only. APPROVAL_NEEDED: applying others'.
    """

    async def each(step: dict[str, Any]) -> None:
        row = step["row"]
        await conversation.tell(step["done"], step["total"], f"{row['name']} {row['outcome']}")

    found = await conversation.operate("cleanup_sessions", each=each, **given(request))
    rows = [_row(row) for row in found["rows"]]
    others = [{**row, "why": cut(row["why"], 160)} for row in found["left_out"]]
    shown, named = fitting(rows, 12_000), fitting(others, 4_000)
    structured = {
        **{name: found[name] for name in ("plan", "applied", "expires_at", "sums")},
        "rows": shown,
        "rows_left_out": len(rows) - len(shown),
        "not_in_plan": named,
        "not_in_plan_left_out": len(others) - len(named),
    }
    return Answer(structured)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in _ROW}
    why = None if row["why"] is None else cut(row["why"], 160)
    because = cut("; ".join(row["evidence"]), 160)
    row_certificate = None if row["certificate"] is None else _in_a_line(row["certificate"])
    return {**kept, "because": because, "quiet_for": int(row["quiet_for"]), "why": why, "certificate": row_certificate}


def _in_a_line(certificate: dict[str, Any]) -> str:
    """What was ended, what survives and how that is known: a plan has hundreds of rows."""
    survivors = [
        f"{each['pid']} {cut(str(each['command']), 40)}" for each in certificate["survivors"][:_MOST_SURVIVORS]
    ]
    left = len(certificate["survivors"]) - len(survivors)
    alive = ", ".join([*survivors, *([f"{left} more"] if left else [])]) or "none"
    return f"{len(certificate['processes'])} ended; survivors: {alive}; guarantee: {certificate['guarantee']}"


CLEANUP_SESSIONS = Tool(
    "cleanup_sessions",
    "Clean up many sessions",
    told(cleanup_sessions),
    derived(
        "CleanUpTool",
        CleanUpSessions,
        "selection",
        "older_than",
        "force",
        "grace",
        "reason",
        "apply",
        "others",
        "approval",
    ),
    CleanedUp,
    cleanup_sessions,
    Hints(read_only=False, destructive=True, idempotent=False),
)
