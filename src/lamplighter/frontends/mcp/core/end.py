"""end_session and kill_session."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.frontends.mcp.core.derivation import SESSION, derived, given
from lamplighter.frontends.mcp.core.sessions import certified
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.end import EndSession, KillSession
from lamplighter.operations.operation import Request, Result

ENDS = Hints(read_only=False, destructive=True, idempotent=True)


class EndedBy(Result):
    id: str
    state: str = Field(description="ended; ending: yours, or some survive")
    certificate: dict[str, Any] = Field(description="processes, survivors, spared, guarantee")


_MORE = ("name", "how", "reason", "exit", "summary")
_OF_A_HANDOFF = ("id", "source", "stored", "resolved", "dropped", "carried", "redacted", "withheld")


def _answer(found: dict[str, Any]) -> Answer:
    handoff = found["handoff"] and {name: found["handoff"][name] for name in _OF_A_HANDOFF}
    structured = {
        **{name: found[name] for name in (*EndedBy.model_fields, *_MORE)},
        "certificate": certified(found["certificate"]),
        "handoff": handoff,
    }
    return Answer(structured)


async def end_session(conversation: ToolContext, request: Request) -> Answer:
    """End one session politely and store its hand-off for the next: it is asked to quit (2 s, 8 while it prints), gets TERM,
    after grace KILL, until its process tree is gone. Working ones end, too: there is no force.

    Use it when your work is done, or that of what you started. kill_session for what hangs, cleanup_sessions for many, to
    store and go on store_records.

    Your own ends after your turn (answer: state ending). Give checkpoint and what else you know; the rest is inferred from
    transcript and repository. Destroyed: processes, unsaved work. Kept: log, records. Sessions that it started go on.

    APPROVAL_NEEDED: others', protected, or people attached.
    """
    return _answer(await conversation.operate("end_session", **given(request)))


END_SESSION = Tool(
    "end_session",
    "End a session politely",
    told(end_session),
    derived(
        "EndTool",
        EndSession,
        "reason",
        "grace",
        "approval",
        session=f"{SESSION}; default: your own",
        checkpoint="where its work stands; always",
        next_session_focus="what to do first",
        decisions="decisions, and why",
        open_loops="open questions and tasks",
        warnings="what to watch out for",
        constraints="what must never be done",
        preferences="how the user wants things",
        resolved_loops="ids of open loops now done",
        dropped_loops="ids of open loops given up",
        relational_delta="what changed between you and the user",
        epitaph="a last word",
        transcript_path="file of its conversation",
        project="default: the session's",
        succession_policy="may from_session take it; starts none; default: successor_allowed",
    ),
    EndedBy,
    end_session,
    ENDS,
)


async def kill_session(conversation: ToolContext, request: Request) -> Answer:
    """Kill one session now, without asking it: TERM to its process tree, after grace KILL, until it is gone. The certificate
    names what was ended and what survives.

    Use it for what is stuck or hangs. Prefer end_session for one that still answers, cleanup_sessions for many.

    Destroyed: processes, unsaved work. Kept: log, records, an inferred hand-off. Sessions that it started go on.

    ACTIVE: working, waiting or unknown, and no force. APPROVAL_NEEDED, force or not: others', protected, or people
    attached.
    """
    return _answer(await conversation.operate("kill_session", **given(request)))


KILL_SESSION = Tool(
    "kill_session",
    "Kill a session now",
    told(kill_session),
    derived("KillTool", KillSession, "session", "force", "grace", "reason", "approval"),
    EndedBy,
    kill_session,
    ENDS,
)
