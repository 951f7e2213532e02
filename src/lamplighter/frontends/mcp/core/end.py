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
    """End one session politely and store a hand-off for the next. It is asked to quit, then gets TERM, after the grace KILL,
    until its process tree is gone; the certificate lists what was ended and what survives.

    Use it when work is done; kill_session for what hangs, cleanup_sessions for many, store_records to go on. Yours: the answer
    comes first, the end when your turn is over. What you do not say is inferred from transcript and repository. Destroyed: its
    processes and unsaved work.

    Yourself and what you started; else APPROVAL_NEEDED. NOT_FOUND.
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
        session=f"{SESSION}; default: yours",
        checkpoint="where the work stands; always give this",
        next_session_focus="what to do first",
        decisions="what was decided, and why",
        open_loops="open questions and tasks",
        warnings="what to watch out for",
        constraints="what must never be done",
        preferences="how the user wants things",
        resolved_loops="ids of open loops now done (search_records)",
        dropped_loops="ids of open loops given up",
        relational_delta="what changed between you and the user",
        epitaph="a last word",
        transcript_path="file of this conversation, to infer from",
        project="default: the session's",
        succession_policy="whether a session may or must go on from here; default: may",
    ),
    EndedBy,
    end_session,
    ENDS,
)


async def kill_session(conversation: ToolContext, request: Request) -> Answer:
    """Stop one session now: TERM to its whole process tree, KILL after the grace (0 for at once); the certificate lists what was
    ended and what survives.

    Use it for what is stuck or orphaned; prefer end_session (asks, stores a hand-off) for one that can still finish,
    cleanup_sessions for many. Without force one at work, waiting, unknown or attached to is refused: ACTIVE. Destroyed: its
    processes and unsaved work.

    Yourself and what you started; others, force or not: APPROVAL_NEEDED. NOT_FOUND.
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
