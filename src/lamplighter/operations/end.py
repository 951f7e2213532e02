"""Ending sessions, with proof; and protecting them from it."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from lamplighter.domain.ending import StopSteps
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Session
from lamplighter.domain.text.redaction import redact
from lamplighter.engine.memory.handoff_writer import Prepared
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Approval, SessionWord
from lamplighter.operations.handoff import HandoffFields, prepared
from lamplighter.operations.operation import AS_SET, Request, Result, operation
from lamplighter.operations.permission import permitted, reads
from lamplighter.operations.views.common import CertificateView, HandoffView, SessionView, without_output


class EndSession(HandoffFields):
    session: str | None = Field(
        default=None, description="id, unique prefix of an id, or name (default: the caller's session)"
    )
    reason: str = Field(default="", max_length=2000, description="reason, stored with the session")
    grace: str | None = Field(default=None, description=f"time between TERM and KILL ({AS_SET})")
    approval: Approval = None


class KillSession(Request):
    session: SessionWord
    force: bool = Field(
        default=False, description="also an active session: working, waiting, unknown, or with people attached"
    )
    grace: str | None = Field(default=None, description=f"time between TERM and KILL, 0 for KILL at once ({AS_SET})")
    reason: str = Field(default="", max_length=2000, description="reason, stored with the session")
    approval: Approval = None


class Ended(Result):
    id: str
    name: str
    state: str = Field(description="ended; or ending, when there are survivors or it is the caller's own")
    how: str
    reason: str
    exit: dict[str, Any] | None
    certificate: CertificateView
    handoff: HandoffView | None = Field(description="what it left to the next; inferred when nobody wrote one")
    summary: dict[str, Any] = Field(description="how long, how, exit, CPU, memory, git, what was stored, last lines")


async def _told(call: Call, session: Session, told: dict[str, Any], given: Prepared | None = None) -> Ended:
    found = await call.app.handoff_writer.left_by(session.id, given)
    summary = told["summary"] if reads(call.app, call.caller, session) else without_output(told["summary"])
    return Ended.model_validate({**told, "summary": summary, "handoff": HandoffView.of(found) if found else None})


async def _kept(reason: str) -> str:
    """As it may be stored, with the intent and in the event."""
    return (await asyncio.to_thread(redact, reason)).text.strip() if reason else ""


@operation(command="end", group="sessions", positional=("session",), changes=True, act=Act.END)
async def end_session(call: Call, request: EndSession) -> Ended:
    """End a session politely: ask the program to quit, then send TERM, then KILL, until no process of it is left.

    Its hand-off (checkpoint, decisions, open loops and more) is stored before any signal is sent. Without one, a hand-off is
    inferred from what can be seen. Returns the death certificate and a summary. The log is kept. Ending the same session
    again changes nothing and returns the same result. To skip the asking: kill. To hand off without ending: handoff --save.
    """
    grace = call.app.settings.grace_for(request.grace)
    word = call.caller.session if request.session is None else request.session
    if word is None:
        raise InputError(
            Code.BAD_INPUT, "the caller is in no session, so there is none of its own to end", "name the one to end"
        )
    session = await permitted(call, Act.END, word)
    handoff = await prepared(call, request, session, request.reason, ending=True)
    reason = await _kept(request.reason)
    told = await call.app.ender.end(
        session,
        call.caller,
        reason,
        StopSteps(ask=True, grace=grace),
        key=call.key,
        turn=call.gone,
        handoff=handoff,
    )
    return await _told(call, session, told, handoff)


@operation(command="kill", group="sessions", positional=("session",), changes=True, act=Act.KILL)
async def kill_session(call: Call, request: KillSession) -> Ended:
    """Kill a session now: TERM to its whole process tree, a grace period, then freeze and KILL until nothing is left.

    Without --force, kill refuses an active session. Returns the death certificate. The log is kept. To ask the program to
    quit first: end.
    """
    grace = call.app.settings.grace_for(request.grace)
    session = await permitted(call, Act.KILL, request.session)
    if not request.force:
        await call.app.assessor.refuse_active(session)
    reason = await _kept(request.reason)
    told = await call.app.ender.end(
        session, call.caller, reason, StopSteps(ask=False, grace=grace), key=call.key, turn=call.gone
    )
    return await _told(call, session, told)


class ProtectSession(Request):
    session: SessionWord
    off: bool = Field(default=False, description="remove the protection")


@operation(command="protect", group="sessions", positional=("session",), changes=True, act=Act.PROTECT)
async def protect_session(call: Call, request: ProtectSession) -> SessionView:
    """Protect a session: no cleanup and no agent can end it, only the operator by name. --off removes the protection."""
    session = await permitted(call, Act.UNPROTECT if request.off else Act.PROTECT, request.session)
    await call.app.ender.protect(session, not request.off, call.caller)
    return await call.app.session_views.view(await call.app.registry.find(session.id))
