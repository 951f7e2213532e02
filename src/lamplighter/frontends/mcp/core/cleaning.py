"""cleanup_sessions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.core.derivation import derived, given
from lamplighter.frontends.mcp.core.size import cut, fitting
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.cleanup import CleanUpSessions
from lamplighter.operations.operation import Request, Result

_ROW = ("id", "name", "verdict", "processes", "memory", "outcome")


class CleanedUp(Result):
    plan: str = Field(description="pass as apply")
    applied: bool
    sums: dict[str, Any] = Field(description="how many, and memory")
    rows: list[dict[str, Any]] = Field(description="id, name, verdict, because; once applied: outcome, why")
    not_in_plan: list[dict[str, Any]] = Field(description="id, name, verdict, why")


async def cleanup_sessions(conversation: Conversation, request: Request) -> Answer:
    """End many sessions in two steps: with a selection it ends nothing and returns a plan, each row with reasons and
    what it frees; with apply=PLAN (and approval) it looks at each row again, skips what has changed, and ends the rest
    politely, with a proof each.

    For one session: end_session or kill_session. Never in a plan: active ones (unless force), protected, main and
    system ones, your own, those with people attached, and what is not yours (unless others); not_in_plan says why. A
    plan is good for ten minutes, once. Destroyed: processes and unsaved work. PLAN_EXPIRED, PLAN_APPLIED, NOT_FOUND,
    APPROVAL_NEEDED, FORBIDDEN.
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
    return {**kept, "because": because, "quiet_for": int(row["quiet_for"]), "why": why}


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
