"""close_session and get_session_summary."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.compat.delx.response import Cutting, ResponseOptions, answered
from lamplighter.compat.delx.summary import Summary, in_words, quoted, summary_of
from lamplighter.domain.text.plural import counted
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.operations.operation import Result

Policy = Literal["closed_without_successor", "successor_allowed", "successor_required"]
_REASON, _EPITAPH = 180, 1200
SESSION = Field(min_length=1, max_length=200, description="its session_id")


class CloseSession(ResponseOptions):
    session_id: str = SESSION
    reason: str = Field(
        default="manual_close",
        min_length=1,
        description=f"why: end_of_shift, task_completed, any words; {_REASON} characters",
    )
    epitaph: str | None = Field(
        default=None, description=f"a last word, kept and quoted as it is; {_EPITAPH} characters, the rest is cut"
    )
    succession_policy: Policy | None = Field(
        default=None, description="whether anybody may, or must, go on from here; successor_allowed when left out"
    )
    allow_rebirth: bool | None = Field(
        default=None, description="false: closed_without_successor, where no succession_policy is given"
    )
    include_summary: bool = Field(default=True, description="with the final summary")


class Closed(Result):
    session_id: str
    status: Literal["closed", "already_closed"]
    reason: str | None
    succession_policy: str
    epitaph: str | None
    epitaph_source: str | None
    recovery_token: str | None = Field(
        description="for whoever goes on from here: shown once, good for one use within 24 hours; none where nobody may"
    )
    recovery_token_expires_at: str | None
    remarks: list[str] = Field(description="what came out otherwise than asked: what was cut, which policy won")
    summary: Summary | None = None
    message: str | None = None


async def close_session(conversation: ToolContext, request: CloseSession) -> Answer:
    policy, remarks = chosen_policy(request)
    cutting = Cutting()
    found = await conversation.operate(
        "close_logical",
        session=request.session_id,
        reason=await cutting.fit("reason", request.reason, _REASON),
        epitaph=await cutting.fit("epitaph", request.epitaph, _EPITAPH),
        policy=policy,
    )
    view = found["session"]
    structured: dict[str, Any] = {
        "session_id": view["id"],
        "status": "closed" if found["closed"] else "already_closed",
        "reason": view["reason"],
        "succession_policy": view["policy"],
        **quoted(view["epitaph"]),
        "recovery_token": found["token"],
        "recovery_token_expires_at": found["token_expires_at"],
        "remarks": [*remarks, *_remarks(found, cutting)],
    }
    if request.include_summary:
        structured["summary"] = summary_of(view)
    said = in_words(view) if found["closed"] else f"It was closed before, and nothing has changed. {in_words(view)}"
    token = f" Its recovery token, for one use within 24 hours: {found['token']}" if found["token"] else ""
    return answered(request, structured, said + token)


def chosen_policy(request: CloseSession) -> tuple[str | None, list[str]]:
    """What to ask for; and that the policy has won, where allow_rebirth says otherwise."""
    policy, rebirth = request.succession_policy, request.allow_rebirth
    if policy is None:
        return (None if rebirth is None else "successor_allowed" if rebirth else "closed_without_successor"), []
    if rebirth is None or rebirth == (policy != "closed_without_successor"):
        return policy, []
    said = "true" if rebirth else "false"
    return policy, [f"succession_policy {policy} wins over allow_rebirth {said}"]


def _remarks(found: dict[str, Any], cutting: Cutting) -> list[str]:
    remarks = list(cutting.remarks) if found["closed"] else []
    if not found["closed"]:
        remarks.append("it was closed before: reason, epitaph and policy are those of then")
    if found["token"] is None:
        remarks.append(_why_no_token(found["session"]))
    secrets, private = found["redacted"] + cutting.secrets, found["withheld"] + cutting.private
    if secrets and found["closed"]:
        remarks.append(f"taken out before anything was stored: {counted(secrets, 'secret')}")
    if private and found["closed"]:
        remarks.append(f"not stored: {counted(private, 'private passage')}")
    return remarks


def _why_no_token(view: dict[str, Any]) -> str:
    if view["successor"]:
        return f"no recovery token: {view['successor']} goes on from it already"
    if view["policy"] == "closed_without_successor":
        return "no recovery token: nobody goes on from it"
    return "no recovery token is shown twice or to anybody but its owner, who gets a new one by closing it again"


CLOSE = Tool(
    "close_session",
    "Close a session",
    "Close one of your own sessions for good, with a reason, a last word and a policy of succession. No process is signalled: "
    "a session here is what you tell of it. Kept: its notes, records, summary and last word; a session that is closed is never "
    "active again. succession_policy says whether anybody may go on from it with resume_session, and is enforced. The "
    "recovery_token lets another caller do so, once, within 24 hours. Closing it again changes nothing, says already_closed, "
    "and gives a new token in place of the last. Only who started it may; anybody else needs the operator "
    "(APPROVAL_NEEDED). NOT_FOUND.",
    CloseSession,
    Closed,
    close_session,
    Hints(read_only=False, destructive=False, idempotent=False),
)


class GetSummary(ResponseOptions):
    session_id: str = SESSION


class Told(Summary):
    epitaph: str | None
    epitaph_source: str | None
    message: str | None = None


async def get_session_summary(conversation: ToolContext, request: GetSummary) -> Answer:
    view = await conversation.operate("get_logical", session=request.session_id)
    return answered(request, {**summary_of(view), **quoted(view["epitaph"])}, in_words(view))


SUMMARY = Tool(
    "get_session_summary",
    "Get a session's summary",
    "Read the summary of a session, active or closed: how long, why and how it was closed, policy, last word, who goes on from "
    "it, the hand-offs on it. Writes nothing and renews nothing: to keep a session from ending by itself, resume_session. "
    "NOT_FOUND.",
    GetSummary,
    Told,
    get_session_summary,
    READS,
)
