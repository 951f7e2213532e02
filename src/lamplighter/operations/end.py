"""Ending sessions, with proof; and protecting them from it."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.redaction import redact
from lamplighter.domain.session import Session
from lamplighter.errors import Code, InputError
from lamplighter.lifecycle.continuity.handing import Prepared
from lamplighter.operations.call import Call
from lamplighter.operations.handoff import HandoffFields, prepared
from lamplighter.operations.operation import AS_SET, Request, Result, operation
from lamplighter.operations.views import CertificateView, HandoffView, SessionView, without_output


class EndSession(HandoffFields):
    session: str | None = Field(
        default=None, description="id, unique beginning of an id, or name; by default the one that asks"
    )
    reason: str = Field(default="", max_length=2000, description="why; kept with the session")
    grace: str | None = Field(default=None, description=f"how long after TERM before KILL; {AS_SET}")
    approval: str | None = Field(
        default=None,
        max_length=100,
        description="the operator's word for just this call: the request that APPROVAL_NEEDED named",
    )


class KillSession(Request):
    session: str = Field(description="id, unique beginning of an id, or name")
    force: bool = Field(
        default=False, description="also when it is active: working, waiting, unknown, or with people attached"
    )
    grace: str | None = Field(
        default=None, description=f"how long after TERM before KILL, 0 for KILL at once; {AS_SET}"
    )
    reason: str = Field(default="", max_length=2000, description="why; kept with the session")
    approval: str | None = Field(
        default=None,
        max_length=100,
        description="the operator's word for just this call: the request that APPROVAL_NEEDED named",
    )


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
    found = await call.app.handing.left_by(session.id, given)
    summary = told["summary"] if call.app.reads(call.caller, session) else without_output(told["summary"])
    return Ended.model_validate({**told, "summary": summary, "handoff": HandoffView.of(found) if found else None})


async def _kept(reason: str) -> str:
    """As it may be stored, with the intent and in the event."""
    return (await asyncio.to_thread(redact, reason)).text.strip() if reason else ""


@operation(command="end", group="sessions", positional=("session",), changes=True, act=Act.END)
async def end_session(call: Call, request: EndSession) -> Ended:
    """End a session politely: ask it in its own way, then TERM, then KILL, until nothing of it is left.

    What it hands over (a checkpoint, decisions, open loops and more) is stored before anything is signalled; without any, one
    is inferred from what can be seen. Returns the death certificate and a summary. The log stays. Asking again for the same
    session changes nothing and returns the same ending. To skip the asking: kill. To hand off and go on: handoff --save.
    """
    grace = call.app.settings.grace_for(request.grace)
    word = call.caller.session if request.session is None else request.session
    if word is None:
        raise InputError(
            Code.BAD_INPUT, "the caller is in no session, so there is none of its own to end", "name the one to end"
        )
    session = await call.app.permitted(call, Act.END, word)
    handoff = await prepared(call, request, session, request.reason, ending=True)
    reason = await _kept(request.reason)
    told = await call.app.undertaker.end(
        session, call.caller, reason, grace=grace, ask=True, key=call.key, turn=call.gone, handoff=handoff
    )
    return await _told(call, session, told, handoff)


@operation(command="kill", group="sessions", positional=("session",), changes=True, act=Act.KILL)
async def kill_session(call: Call, request: KillSession) -> Ended:
    """Stop a session now: TERM to its whole tree, a grace period, then freeze and KILL until nothing of it is left.

    An active session is refused without force. Returns the death certificate. The log stays. To let it finish in its own
    way first: end.
    """
    grace = call.app.settings.grace_for(request.grace)
    session = await call.app.permitted(call, Act.KILL, request.session)
    if not request.force:
        await call.app.judgement.refuse_active(session)
    reason = await _kept(request.reason)
    told = await call.app.undertaker.end(
        session, call.caller, reason, grace=grace, ask=False, key=call.key, turn=call.gone
    )
    return await _told(call, session, told)


class ProtectSession(Request):
    session: str = Field(description="id, unique beginning of an id, or name")
    off: bool = Field(default=False, description="take the protection away")


@operation(command="protect", group="sessions", positional=("session",), changes=True, act=Act.PROTECT)
async def protect_session(call: Call, request: ProtectSession) -> SessionView:
    """Protect a session: no cleanup and no agent may end it, only the operator by name. With off: no longer."""
    session = await call.app.permitted(call, Act.UNPROTECT if request.off else Act.PROTECT, request.session)
    await call.app.undertaker.protect(session, not request.off, call.caller)
    return await call.app.portrait.view(await call.app.find(session.id))
