"""The operator's word on what an agent may not do by itself: what is asked, by whom; and granting or refusing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.approval import Approval, shortened
from lamplighter.domain.permission import Act
from lamplighter.errors import MissingError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed
from lamplighter.operations.views.common import Moment, SessionView


class ListApprovals(Request):
    request: str | None = Field(
        default=None, max_length=100, description="only this request, open or not: its id or a unique prefix of it"
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
    plan: str | None = Field(default=None, description="the plan of a cleanup that it is about instead")
    asked_at: Moment
    expires_at: Moment
    decided_by: str | None
    decided_at: Moment | None
    used_at: Moment | None


class ApprovalViews(Result):
    approvals: list[ApprovalView] = Field(description="the oldest first: it expires first")


@operation(command="approve", group="sessions", positional=("request",))
async def list_approvals(call: Call, request: ListApprovals) -> ApprovalViews:
    """Show, grant or refuse requests of agents: to send to, end or kill a session that is not theirs.

    A request is for one call: this caller, these arguments, this session. Once granted, the caller can make the call once,
    within ten minutes of asking. Without REQUEST, approve lists the open requests, with the first rows of a cleanup plan;
    with REQUEST it shows all rows. Operator only.
    """
    await allowed(call, Act.APPROVE)
    if request.request is None:
        found = await call.app.approvals.open()
    else:
        found = [await call.app.approvals.find(request.request)]
    return ApprovalViews(approvals=[await _view(call, one, whole=request.request is not None) for one in found])


@operation(command=None, group="sessions", changes=True)
async def decide_approval(call: Call, request: DecideApproval) -> ApprovalView:
    """Grant or refuse what an agent asks for. Can be changed until it is used or has expired. Only the operator may."""
    await allowed(call, Act.APPROVE)
    grant = request.decision == "grant"
    decided = await call.app.approvals.decide(request.request, grant=grant, by=call.caller, repeated=call.repeated)
    # This result is kept under its key for a week, and what is to be typed must not be.
    return await _view(call, replace(decided, arguments=None))


async def _view(call: Call, approval: Approval, *, whole: bool = True) -> ApprovalView:
    kind, _, asking = approval.caller.partition(":")
    over = approval.expired(call.app.clock.now()) and approval.state != "used"
    return ApprovalView.showing(
        approval,
        state="expired" if over else approval.state,
        asker=await _session(call, asking) if kind == "session" else None,
        arguments=None if over else _arguments(approval, whole=whole),
        target=await _session(call, approval.target) if approval.target is not None else None,
        plan=approval.session if approval.target is None else None,
    )


def _arguments(approval: Approval, *, whole: bool) -> dict[str, Any] | None:
    """In a list a plan has its first rows; asked for alone, all of them."""
    if whole or approval.arguments is None or approval.target is not None:
        return approval.arguments
    return shortened(approval.arguments)


async def _session(call: Call, identifier: str) -> SessionView | None:
    try:
        return await call.app.session_views.view(await call.app.registry.find(identifier))
    except MissingError:
        return None
