"""Ending sessions: sessions_kill, sessions_cleanup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from pydantic import Field

from lamplighter.compat.openclaw.keys import NAMESPACE
from lamplighter.compat.openclaw.operations import ListedSession
from lamplighter.compat.openclaw.rows import fitting, found, listed
from lamplighter.domain.plan import DEFAULT_SELECTION
from lamplighter.domain.selection import parse_selection
from lamplighter.errors import ForbiddenError, LampError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool
from lamplighter.operations.operation import Request, Result

_OVER = ("finished", "idle", "inactive", "ended")
"""Words of a filter that hold for a session that has ended and is still listed."""
_LIVING = {"inactive": "idle"}
_FREED = ("would_end", "would_remove", "ended", "removed")
_ROOM = 50_000
_KEPT_SHOWN = 20
_SURVIVORS_SHOWN = 20


class SessionsKill(Request):
    sessionKey: str = Field(min_length=1, max_length=200, description="its key; also its id or name in Lamplighter")
    force: bool = Field(
        default=False, description="kill it even if it is active: working, waiting or not known to rest"
    )


class SessionsKilled(Result):
    status: Literal["killed", "ending", "already_ended", "timeout", "error", "forbidden"] = Field(
        description="killed: nothing of it is left; ending: something survives and is tried on, or it is your own session"
    )
    sessionKey: str
    sessionId: str
    how: str = Field(description="asked, terminated, killed, exited or lost")
    processes: int = Field(description="that were ended, children of every kind with them")
    guarantee: str = Field(description="how sure it is that nothing is left: kernel, tree or best_effort")
    survivors: list[str] = Field(description="what is still alive; empty when killed")


async def sessions_kill(conversation: ToolContext, request: SessionsKill) -> Answer:
    session = await found(conversation, request.sessionKey)
    told = await conversation.operate("kill_session", session=session.id, force=request.force, part="kill")
    over = not session.alive
    if told["state"] == "ended":
        await conversation.operate(
            "retire_sessions", namespace=NAMESPACE, names={session.id: session.key}, part="retire"
        )
    survivors = [f"{one.get('pid')} {one.get('command', '')}"[:120] for one in told["certificate"]["survivors"]]
    status = "already_ended" if over else "killed" if told["state"] == "ended" else "ending"
    answer: dict[str, Any] = {
        "status": status,
        "sessionKey": session.key,
        "sessionId": session.id,
        "how": told["how"],
        "processes": len(told["certificate"]["processes"]),
        "guarantee": told["certificate"]["guarantee"],
        "survivors": survivors[:_SURVIVORS_SHOWN],
    }
    return Answer(answer)


class SessionsCleanup(Request):
    filter: str | None = Field(
        default=None,
        max_length=900,
        description="orphaned, inactive (rests), finished, leftovers, stuck, a key, or a pattern of keys such as cron:*; a comma "
        "means both, a plus either; without it orphaned+finished+leftovers",
    )
    olderThan: float | None = Field(
        default=None,
        ge=0,
        le=1e8,
        description="only those without input, new output or CPU for so many minutes, also if they sleep or wait for "
        "something; filter must hold too",
    )
    force: bool = Field(default=False, description="also active ones: working, waiting or not known to rest")
    dryRun: bool = Field(default=False, description="only say what would be ended; changes nothing")


class CleanupRow(Result):
    sessionKey: str
    sessionId: str
    outcome: Literal[
        "would_end", "would_remove", "would_need_approval", "ended", "removed", "skipped", "survived", "failed",
        "approval_needed", "forbidden",
    ]  # fmt: skip
    verdict: str
    idleMinutes: float | None = Field(default=None, description="since its last sign of life")
    processes: int = Field(default=0, description="that it frees")
    memoryBytes: int = Field(default=0, description="resident memory that it frees")
    reason: str | None = Field(
        default=None, description="what the verdict rests on; why it was skipped, failed or refused"
    )
    approval: str | None = Field(default=None, description="the request that the operator can grant; then call again")


class Freed(Result):
    sessions: int
    processes: int
    memoryBytes: int


class SessionsCleanedUp(Result):
    dryRun: bool
    count: int = Field(description="sessions that the filter found, yours and others'")
    results: list[CleanupRow] = Field(description="one for each; as many as fit in 64 KiB")
    omitted: int = Field(description="results that did not fit here; the acts were done for them too")
    freed: Freed = Field(description="what was freed; of a dry run, what would be")
    kept: list[str] = Field(description="what the filter found and is not touched, each with why")


async def sessions_cleanup(conversation: ToolContext, request: SessionsCleanup) -> Answer:
    living, over = _selections((request.filter or "").strip() or DEFAULT_SELECTION)
    seconds = None if request.olderThan is None else request.olderThan * 60
    keys = {one.id: one.key for one in (await listed(conversation)).sessions}
    plan = await _plan(conversation, request, living, seconds, keys)
    ended = (await listed(conversation, over=over, quiet_seconds=seconds)).sessions
    if request.dryRun:
        rows = [_row(row, keys, "would_end") for row in plan["rows"]]
        rows += [_over(one, "would_remove") for one in ended]
        rows += [_foreign(one, keys, "would_need_approval", one["why"]) for one in _others(plan)]
    else:
        rows = await _carry_out(conversation, plan, ended, keys)
        if _others(plan):

            async def asks(part: str) -> dict[str, Any]:
                return await _plan(conversation, request, living, seconds, keys, others=True, part=part)

            rows += await _with_others(conversation, asks, keys)
            known = {row["sessionId"] for row in rows}  # what may not even be asked for is refused
            rows += [_foreign(one, keys, "forbidden", one["why"]) for one in _others(plan) if one["id"] not in known]
    return _answer(request, plan, rows, keys)


def _selections(words: str) -> tuple[str | None, str]:
    """What the filter means among the living, if anything, and among those that have ended but are listed."""
    groups = [[_as_key(word.strip()) for word in group.split(",")] for group in words.split("+")]
    alive = [[_LIVING.get(word, word) for word in group] for group in groups if "ended" not in group]
    over = [["ended" if word in _OVER else word for word in group] for group in groups]
    spelt = [str(parse_selection(_spelt(each))) if each else None for each in (alive, over)]
    return spelt[0], spelt[1] or ""


def _as_key(word: str) -> str:
    """agent:X is a program in our selections, and agent:X:… a key here: spelt so that it is read as a pattern of names."""
    return f"[a]{word[1:]}" if word.startswith("agent:") and word.count(":") > 1 else word


def _spelt(groups: list[list[str]]) -> str:
    return "+".join(",".join(group) for group in groups)


async def _plan(
    conversation: ToolContext,
    request: SessionsCleanup,
    selection: str | None,
    seconds: float | None,
    keys: dict[str, str],
    *,
    others: bool = False,
    part: str = "plan",
) -> dict[str, Any]:
    if selection is None:
        return {"rows": [], "left_out": []}
    return await conversation.operate(
        "cleanup_sessions",
        selection=selection,
        older_than=None if seconds is None else f"{seconds:.3f}s",
        force=request.force,
        known_as=keys,
        others=others,
        reason="sessions_cleanup",
        part=part,
    )


async def _carry_out(
    conversation: ToolContext, plan: dict[str, Any], ended: list[ListedSession], keys: dict[str, str]
) -> list[dict[str, Any]]:
    """The plan as it stands, each row looked at once more; then what is over."""
    rows = await _apply(conversation, plan, keys, "apply") if plan["rows"] else []
    if ended:
        names = {one.id: one.key for one in ended}
        told = await conversation.operate("retire_sessions", namespace=NAMESPACE, names=names, part="retire")
        errors = {name: error["message"] for name, error in told["errors"].items()}
        rows += [_over(one, "failed" if one.id in errors else "removed", errors) for one in ended]
    return rows


async def _apply(
    conversation: ToolContext, plan: dict[str, Any], keys: dict[str, str], part: str
) -> list[dict[str, Any]]:
    async def each(step: dict[str, Any]) -> None:
        await conversation.tell(step["done"], step["total"], f"{keys.get(step['row']['id'])}: {step['row']['outcome']}")

    applied = await conversation.operate("cleanup_sessions", apply=plan["plan"], part=part, each=each)
    return [_row(row, keys, row["outcome"]) for row in applied["rows"]]


def _others(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in plan["left_out"] if one["foreign"]]


async def _with_others(
    conversation: ToolContext, asks: Callable[[str], Awaitable[dict[str, Any]]], keys: dict[str, str]
) -> list[dict[str, Any]]:
    """What of others' was granted is ended, row by row as it was asked for; for the rest one request asks the operator."""
    rows: list[dict[str, Any]] = []
    for turn in ("others", "rest"):
        plan = await asks(f"plan-{turn}")
        known = {row["sessionId"] for row in rows}
        wanted = [row for row in plan["rows"] if row["id"] not in known]
        if not wanted:
            break
        try:
            rows += await _apply(conversation, plan, keys, turn)
        except LampError as error:
            request = error.details.get("request")
            outcome = "approval_needed" if request else "forbidden" if isinstance(error, ForbiddenError) else "failed"
            return rows + [_foreign(one, keys, outcome, error.message, approval=request) for one in wanted]
    return rows


def _row(row: dict[str, Any], keys: dict[str, str], outcome: str) -> dict[str, Any]:
    return {
        "sessionKey": keys.get(row["id"], row["id"]),
        "sessionId": row["id"],
        "outcome": outcome,
        "verdict": row["verdict"],
        "idleMinutes": round(row["quiet_for"] / 60, 2),
        "processes": row["processes"],
        "memoryBytes": row["memory"],
        "reason": (row["why"] if outcome in ("skipped", "failed", "survived") else "; ".join(row["evidence"]))[:300],
    }


def _over(one: ListedSession, outcome: str, errors: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "sessionKey": one.key,
        "sessionId": one.id,
        "outcome": outcome,
        "verdict": "ended",
        "idleMinutes": round(one.quiet / 60, 2),
        "processes": 0,
        "memoryBytes": 0,
        "reason": (errors or {}).get(one.id, f"it ended by itself: {one.exit or one.status}")[:300],
    }


def _foreign(other: dict[str, Any], keys: dict[str, str], outcome: str, why: str, **more: Any) -> dict[str, Any]:
    told = {
        "sessionKey": keys.get(other["id"], other["id"]),
        "sessionId": other["id"],
        "outcome": outcome,
        "verdict": other["verdict"],
        "reason": why[:300],
        **more,
    }
    return {name: value for name, value in told.items() if value is not None}


def _answer(request: SessionsCleanup, plan: dict[str, Any], rows: list[dict[str, Any]], keys: dict[str, str]) -> Answer:
    freeing = [row for row in rows if row["outcome"] in ("would_end", "ended")]
    gone = [row for row in rows if row["outcome"] in _FREED]
    told = {row["sessionId"] for row in rows}
    kept = [
        f"{keys.get(one['id'], one['id'])}: {one['why']}"[:300]
        for one in plan["left_out"]
        if not one["foreign"] and one["id"] not in told
    ]
    freed = {
        "sessions": len(gone),
        "processes": sum(row.get("processes", 0) for row in freeing),
        "memoryBytes": sum(row.get("memoryBytes", 0) for row in freeing),
    }
    shown = fitting(rows, _ROOM)
    answer: dict[str, Any] = {
        "dryRun": request.dryRun,
        "count": len(rows),
        "results": shown,
        "omitted": len(rows) - len(shown),
        "freed": freed,
        "kept": kept[:_KEPT_SHOWN] + ([f"and {len(kept) - _KEPT_SHOWN} more"] if len(kept) > _KEPT_SHOWN else []),
    }
    return Answer(answer)


KILL = Tool(
    "sessions_kill",
    "Kill a session",
    "Kill one session now, with every process that it started, also those that went to the background: TERM, the grace, "
    "then KILL until nothing is left, and that is checked. Its log and the record of it stay; the key is over for "
    "good and the row leaves sessions_list. An active session (working, waiting, or not known to rest) is refused "
    "with ACTIVE unless force is true. For many at once use sessions_cleanup. You may kill sessions that you started "
    "and theirs, and your own; main, system and protected sessions and anybody else's are refused with or without "
    "force: for others' the operator can approve, then call again. Fails with NOT_FOUND for a key that never was; of "
    "one that has ended it says already_ended.",
    SessionsKill,
    SessionsKilled,
    sessions_kill,
    Hints(read_only=False, destructive=True, idempotent=True),
)
CLEANUP = Tool(
    "sessions_cleanup",
    "Clean up sessions",
    "End all sessions of yours that match, each with every process that it started, and take ended ones out of "
    "sessions_list. Active ones only with force, or when they are as quiet as olderThan asks. Acts at once; with dryRun "
    "it only says what it would do: look at that first. filter and olderThan must both hold; without a filter: orphaned, "
    "finished and leftovers. Never touched: main, system and protected sessions, those with people attached, your own "
    "and those above it. Others' sessions become one request that the operator can approve (approval_needed), one result "
    "per session. Logs and records stay. For one session use sessions_kill.",
    SessionsCleanup,
    SessionsCleanedUp,
    sessions_cleanup,
    Hints(read_only=False, destructive=True, idempotent=False),
)
