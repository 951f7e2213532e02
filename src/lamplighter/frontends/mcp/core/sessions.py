"""list_sessions and get_session."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.frontends.mcp.core.derivation import derived
from lamplighter.frontends.mcp.core.size import cut, fitting
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Tool, told
from lamplighter.operations.operation import Request, Result
from lamplighter.operations.query import GetSession

_MOST_PROCESSES = 25
_MOST_NAMED = 20


class ListTool(Request):
    selection: str = Field(
        default="mine",
        description="mine (never you), all, a verdict (working waiting idle stuck unknown; finished: turn over; orphaned: "
        "quiet, starter gone; leftovers: exited, children left), ended, kind:cron, project:X, owner:X, id, name or pattern "
        "(test-*). Comma is and, plus or, comma first: mine,idle+orphaned",
    )
    limit: int = Field(default=50, ge=1, le=200, description="rows at most")
    after: str | None = Field(default=None, max_length=40, description="`next` of the page before")


_BRIEF = (
    "id", "name", "state", "verdict", "owner", "memory", "processes", "kind", "agent", "parent", "project", "created_at",
    "attached",
)  # fmt: skip
_OF_AN_END = ("exit", "how", "reason")


class Listed(Result):
    sessions: list[dict[str, Any]] = Field(
        description="id, name, state, verdict, because, owner, quiet_for (seconds), memory (bytes), …; ended: exit, how, reason"
    )
    left_out: int = Field(description="how many more match")
    next: str | None = Field(description="pass as after; null: no more")


def brief(row: dict[str, Any]) -> dict[str, Any]:
    because = cut("; ".join(row["evidence"]), 160)
    return {
        **{name: row[name] for name in (*_BRIEF, *(_OF_AN_END if row["state"] == "ended" else ())) if name in row},
        "because": because,
        "quiet_for": int(row["quiet_for"]),
    }


async def list_sessions(conversation: ToolContext, request: ListTool) -> Answer:
    """List sessions in pages, oldest first: a verdict on what each does, and what its process tree takes; by default what you
    started, at any depth.

    Use it to find an id, or what you left running. For one in full get_session, for what runs outside of sessions
    scan_host, to end many cleanup_sessions.

    Ended ones come only with ended: mine,ended; all+ended. A verdict is computed now; unknown means that nobody can tell,
    no reason to kill.
    """
    found = await conversation.operate("list_sessions", selection=request.selection)
    rows = [brief(row) for row in found["sessions"] if request.after is None or row["id"] > request.after]
    shown = fitting(rows[: request.limit])
    left = len(rows) - len(shown)
    return Answer({"sessions": shown, "left_out": left, "next": shown[-1]["id"] if left else None})


class Detail(Result):
    id: str
    evidence: list[str]
    output: int = Field(description="newest cursor")
    tree: list[dict[str, Any]]


_ALSO = (
    "handoff",
    "owner",
    "limits",
    "warnings",
    "children",
    "exit",
    "predecessor",
    "successor",
    "cwd",
    "protected",
    "started_at",
    "ended_at",
    "last_output_at",
    "last_input_at",
    "cpu",
    "tokens",
    "conversation",
    "guarantee",
)
_OF_A_PROCESS = ("pid", "parent", "command", "state", "memory")


async def get_session(conversation: ToolContext, request: Request) -> Answer:
    """Show one session in full: verdict with its evidence, up to 25 processes, limits, children; of an ended one who ended it,
    why, and the certificate: what was ended, what survives, how that was proven.

    Use it before you kill, or to learn how something ended. For many list_sessions, for what it printed read_output.

    Ended ones stay known: by id or, while no living one has it, by name. AMBIGUOUS:
    several ids begin so.
    """
    found = await conversation.operate("get_session", session=getattr(request, "session", ""))
    return Answer(detailed(found))


def detailed(found: dict[str, Any]) -> dict[str, Any]:
    """One session in full, as far as it can be read."""
    tree = [{name: row[name] for name in _OF_A_PROCESS} for row in found["tree"][:_MOST_PROCESSES]]
    for row in tree:
        row["command"] = cut(str(row["command"]), 120)
    return {
        **{name: found[name] for name in (*Detail.model_fields, *_ALSO) if name in found},
        **brief(found),
        "command": [cut(word) for word in found["command"][:50]],
        "evidence": [cut(line) for line in found["evidence"]],
        "tree": tree,
        "tree_left_out": len(found["tree"]) - len(tree),
        "ending": _ending(found["ending"]),
    }


def _ending(ending: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if ending is None else {**ending, "certificate": certified(ending["certificate"])}


def certified(certificate: dict[str, Any]) -> dict[str, Any]:
    """A certificate in short: how many were ended, the first of them by name, and in full only what is still alive."""
    processes = [
        {"pid": each["pid"], "command": cut(str(each["command"]), 80), "signal": each["signal"]}
        for each in certificate["processes"][:_MOST_NAMED]
    ]
    return {
        "guarantee": certificate["guarantee"],
        "seconds": certificate["seconds"],
        "ended": len(certificate["processes"]),
        "processes": processes,
        "survivors": certificate["survivors"][:_MOST_NAMED],
        "spared": certificate["spared"][:_MOST_NAMED],
    }


LIST_SESSIONS = Tool(
    "list_sessions",
    "List sessions",
    told(list_sessions),
    ListTool,
    Listed,
    list_sessions,
    READS,
)

GET_SESSION = Tool(
    "get_session",
    "Show one session",
    told(get_session),
    derived("GetTool", GetSession, "session"),
    Detail,
    get_session,
    READS,
)
