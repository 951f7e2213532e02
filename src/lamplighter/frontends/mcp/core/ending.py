"""end_session and kill_session."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.domain.handoff import Policy
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.core.derivation import SESSION, derived, given
from lamplighter.frontends.mcp.core.seeing import certified
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.end import EndSession, KillSession
from lamplighter.operations.operation import Request, Result

ENDS = Hints(read_only=False, destructive=True, idempotent=True)


class EndedBy(Result):
    id: str
    state: str = Field(description="ended; or ending: your own, or something survives")
    certificate: dict[str, Any] = Field(description="the proof: processes, survivors, spared, guarantee")


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


async def end_session(conversation: Conversation, request: Request) -> Answer:
    """End one session politely and hand over what it knew: the hand-off is stored, then it is asked to stop, gets TERM,
    and KILL after the grace, until its process tree is gone; the certificate proves it.

    Without session it ends your own: you are answered first, and end when your turn is over. Use it when work is done;
    kill_session for what hangs, cleanup_sessions for many. Without a checkpoint one is inferred. Destroyed: its processes
    and unsaved work.

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
        relational_delta=(str | None, Field(default=None, description="what changed in working together")),
        next_session_focus=(str | None, Field(default=None, description="where to resume")),
        transcript_path=(
            str | None,
            Field(default=None, description="file of this conversation, for what you do not say"),
        ),
        epitaph=(str | None, Field(default=None, description="a last word")),
        session=(
            str | None,
            Field(default=None, description=f"{SESSION}; yours if left out"),
        ),
        checkpoint=(str | None, Field(default=None, description="where the work stands; give at least this")),
        decisions=(list[str], Field(default_factory=list, description="what was decided, and why")),
        open_loops=(list[str], Field(default_factory=list, description="questions and tasks not done")),
        preferences=(list[str], Field(default_factory=list, description="how the user likes things")),
        constraints=(list[str], Field(default_factory=list, description="boundaries never to cross")),
        warnings=(list[str], Field(default_factory=list, description="what to be careful about")),
        resolved_loops=(
            list[str],
            Field(default_factory=list, description="ids (search_records) of loops that are done"),
        ),
        dropped_loops=(list[str], Field(default_factory=list, description="ids of loops given up")),
        project=(str | None, Field(default=None, description="by default the session's own")),
        succession_policy=(
            Policy | None,
            Field(default=None, description="may or must a session go on from here; default: may"),
        ),
    ),
    EndedBy,
    end_session,
    ENDS,
)


async def kill_session(conversation: Conversation, request: Request) -> Answer:
    """Stop one session now: TERM to its whole process tree, KILL after the grace (0 for at once), until nothing is left,
    which the certificate proves.

    Use it for what is stuck, orphaned or ignores end_session; prefer end_session for one that can still finish,
    cleanup_sessions for many. Without force one at work, waiting, unknown or attached to is refused: ACTIVE.
    Destroyed: its processes and unsaved work.

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
