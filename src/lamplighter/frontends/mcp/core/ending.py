"""end_session and kill_session."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.errors import Code, InputError
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.core.derivation import derived, given
from lamplighter.frontends.mcp.core.seeing import certified
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.end import EndSession, KillSession
from lamplighter.operations.operation import Request, Result

ENDS = Hints(read_only=False, destructive=True, idempotent=True)


class EndedBy(Result):
    id: str
    name: str
    state: str = Field(description="ended; or ending: your own, or something survives")
    how: str
    reason: str
    exit: dict[str, Any] | None
    certificate: dict[str, Any] = Field(
        description="guarantee (kernel, tree, best_effort), seconds, processes ended, survivors, spared"
    )


def _answer(found: dict[str, Any]) -> Answer:
    certificate = certified(found["certificate"])
    structured = {**{name: found[name] for name in EndedBy.model_fields}, "certificate": certificate}
    left = len(found["certificate"]["survivors"])
    proof = f"{certificate['processes']} processes, {left} left alive, guarantee {certificate['guarantee']}"
    if found["state"] == "ending" and not left:
        proof = "it ends once your turn is over"
    return Answer(structured, f"{found['name']} ({found['id']}) is {found['state']}: {proof}")


async def end_session(conversation: Conversation, request: Request) -> Answer:
    """End one session politely: it is asked to stop, gets TERM, then KILL after the grace, until nothing of its process
    tree is left, which the certificate proves.

    Without session it ends your own: you are answered first, and end when your turn is over, 30 s at most. Use it
    when work is done; kill_session for what hangs or must stop now, cleanup_sessions for many. Destroyed: its
    processes and unsaved work. Kept: log, exit, record. Cancelling does not undo it; asking again returns the same
    ending. Survivors are named and tried again.

    Yourself and what you started; other agents' sessions, protected, main and system ones, and those with people
    attached need the operator: APPROVAL_NEEDED gives a request id, once granted repeat with approval. NOT_FOUND.
    """
    arguments = given(request)
    arguments["session"] = arguments["session"] or conversation.caller.session
    if arguments["session"] is None:
        raise InputError(
            Code.BAD_INPUT, "you are in no session, so there is none of your own to end", "name the one that you mean"
        )
    return _answer(await conversation.operate("end_session", **arguments))


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
        session=(
            str | None,
            Field(default=None, description="id, unique beginning of an id, or name; yours if left out"),
        ),
    ),
    EndedBy,
    end_session,
    ENDS,
)


async def kill_session(conversation: Conversation, request: Request) -> Answer:
    """Stop one session now: TERM to its whole process tree, KILL after the grace (0 for at once), until nothing is left,
    detached children included, which the certificate proves.

    Use it for what is stuck, orphaned or ignores end_session; prefer end_session for one that can still finish,
    cleanup_sessions for many. Without force an active one (working, waiting, unknown, people attached) is refused
    with ACTIVE and goes on. Destroyed: its processes and unsaved work. Kept: log, record. Asking again returns the
    same ending.

    Yourself and what you started; others, force or not, need the operator: APPROVAL_NEEDED gives a request id, once
    granted repeat exactly this call with approval. NOT_FOUND.
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
