"""The operator's word on what an agent may not do by itself: what is asked, by whom; and granting or refusing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.approval import Approval
from lamplighter.domain.permission import Act
from lamplighter.errors import MissingError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views import SessionView, moment

_SHOWN = 5


class ListApprovals(Request):
    request: str | None = Field(
        default=None, max_length=100, description="only this one, open or not: its id, or the unique beginning of it"
    )


class DecideApproval(Request):
    request: str = Field(max_length=100, description="its id, or the unique beginning of it")
    decision: Literal["grant", "refuse"] = Field(description="what the operator says")


class ApprovalView(Result):
    """One request: who asks for what, with the sessions as they are now."""

    id: str
    state: Literal["asked", "granted", "refused", "used", "expired"]
    caller: str = Field(description="who asks")
    asker: SessionView | None = Field(description="the session that asks, when it is one")
    operation: str
    arguments: dict[str, Any] | None = Field(description="all of them; gone once it is over, for they may be secret")
    why: str = Field(description="why the caller may not do it by itself")
    target: SessionView | None = Field(description="the session that it is about")
    asked_at: str
    expires_at: str
    decided_by: str | None
    decided_at: str | None
    used_at: str | None


class ApprovalViews(Result):
    approvals: list[ApprovalView] = Field(description="the oldest first: it expires first")


@operation(command="approve", group="sessions", positional=("request",))
async def list_approvals(call: Call, request: ListApprovals) -> ApprovalViews:
    """Show what agents ask you for: to send to, end or kill a session that is not theirs; grant it, or refuse.

    A request is for one call as it was asked, by that caller, on that session. Granted, the caller can carry it out once,
    within ten minutes of asking. Without REQUEST those are listed that are open. Only the operator may.
    """
    await call.app.allowed(call.caller, Act.APPROVE)
    if request.request is None:
        found = await call.app.approvals.open()
    else:
        found = [await call.app.approvals.find(request.request)]
    return ApprovalViews(approvals=[await _view(call, one, whole=request.request is not None) for one in found])


@operation(command=None, group="sessions", changes=True)
async def decide_approval(call: Call, request: DecideApproval) -> ApprovalView:
    """Grant or refuse what an agent asks for. Can be changed until it is used or has expired. Only the operator may."""
    await call.app.allowed(call.caller, Act.APPROVE)
    grant = request.decision == "grant"
    decided = await call.app.approvals.decide(request.request, grant=grant, by=call.caller, repeated=call.repeated)
    # This result is kept under its key for a week, and what is to be typed must not be.
    return await _view(call, replace(decided, arguments=None))


async def _view(call: Call, approval: Approval, *, whole: bool = True) -> ApprovalView:
    kind, _, asking = approval.caller.partition(":")
    over = approval.expired(call.app.clock.now()) and approval.state != "used"
    return ApprovalView.model_construct(
        id=approval.id,
        state="expired" if over else approval.state.value,
        caller=approval.caller,
        asker=await _session(call, asking) if kind == "session" else None,
        operation=approval.operation,
        arguments=None if over else approval.arguments if whole else _shortened(approval.arguments),
        why=approval.why,
        target=await _session(call, approval.target) if approval.target is not None else None,
        asked_at=moment(approval.asked_at) or "",
        expires_at=moment(approval.expires_at) or "",
        decided_by=approval.decided_by,
        decided_at=moment(approval.decided_at),
        used_at=moment(approval.used_at),
    )


def _shortened(arguments: dict[str, Any] | None) -> dict[str, Any] | None:
    """For a list: a plan has its first rows there, and how many more there are."""
    rows = (arguments or {}).get("rows", [])
    if arguments is None or len(rows) <= _SHOWN:
        return arguments
    return {**arguments, "rows": rows[:_SHOWN], "rows_left_out": len(rows) - _SHOWN}


async def _session(call: Call, identifier: str) -> SessionView | None:
    try:
        return await call.app.portrait.view(await call.app.find(identifier))
    except MissingError:
        return None
