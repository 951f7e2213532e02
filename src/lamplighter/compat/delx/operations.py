"""Going on from a logical session, and handing over between two. On no command line: toolsets are made from these."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Literal

from pydantic import Field

from lamplighter.compat.delx.engine import Wanted, resumption_of
from lamplighter.compat.delx.logical import LogicalView, find_logical, view_of
from lamplighter.domain.memory.record import Record, RecordType, Source
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Session
from lamplighter.domain.states import Running, Starting
from lamplighter.domain.text.redaction import redact
from lamplighter.errors import Code, ConflictError, InputError, MissingError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Approval, Redacted, Withheld
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed, permitted, resumable
from lamplighter.store import events, records


class ResumeLogical(Request):
    namespace: str = Field(pattern=r"^[a-z]{1,20}$", description="whose names")
    agent: str = Field(min_length=1, max_length=200, description="the agent, by its id there")
    token: str | None = Field(default=None, max_length=200, description="the secret of a recovery token")
    days: int = Field(default=30, ge=1, le=90, description="how far back to look for one that has ended")
    cwd: str | None = Field(default=None, description="the folder that a successor works in")
    approval: Approval = None


class LogicalResumed(Result):
    session: LogicalView
    begun: bool = Field(description="whether this call began it, as a successor")
    predecessor: LogicalView | None = Field(description="what it goes on from, when it is a successor")
    waiting: list[str] = Field(description="others of this agent that a successor is required for")
    packet: str = Field(description="what a new successor starts from: all that was left to it, fenced as data")


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def resume_logical(call: Call, request: ResumeLogical) -> LogicalResumed:
    """Go on with an agent's living session, or begin the successor of its last one, where that one's policy allows it.

    The caller's own sessions are looked at first. One that somebody left who is gone, as the agent itself before it was started
    anew, needs the operator's word; for any other's the secret of its recovery token.
    """
    await allowed(call, Act.START)
    wanted = Wanted(request.namespace, request.agent, request.token, request.days, request.cwd)
    try:
        found = await resumption_of(call.app).go_on(wanted, call.caller, call.key, repeated=call.repeated)
    except MissingError:
        left = await resumption_of(call.app).left_behind(wanted, call.caller) if request.token is None else None
        if left is None:
            raise
        await resumable(call, left)
        found = await resumption_of(call.app).take(left, wanted, call.caller, call.key)
    return LogicalResumed(
        session=await view_of(call, found.session),
        begun=found.session.key == call.key,
        predecessor=await view_of(call, found.predecessor) if found.predecessor else None,
        waiting=found.waiting,
        packet=found.packet,
    )


Urgency = Literal["low", "moderate", "high", "critical"]
_IMPORTANCE: dict[str, int] = {"low": 3, "moderate": 5, "high": 7, "critical": 9}


class HandOver(Request):
    from_session: str = Field(description="the session that hands over; the caller's own")
    to_session: str = Field(description="the living session that receives")
    context: str = Field(default="", max_length=1200, description="what the other needs to know")
    blocker: str = Field(default="", max_length=1200, description="what is in the way")
    urgency: Urgency = Field(default="moderate", description="how soon it matters")


class HandedOver(Result):
    from_session: str
    to_session: str
    urgency: str
    notes: list[str] = Field(description="ids of the records: the one on the giving session, the one on the receiving")
    context: str
    blocker: str
    redacted: Redacted
    withheld: Withheld


@operation(command=None, group="sessions", changes=True, act=Act.HAND_OFF)
async def hand_over(call: Call, request: HandOver) -> HandedOver:
    """Hand work from one logical session to another: a note on both, in one transaction. Neither ends.

    Who gives must be its owner; who receives may be anybody's that lives. What was said is kept as data, with who said it.
    """
    giving = await find_logical(call, request.from_session)
    receiving = await find_logical(call, request.to_session)
    await permitted(call, Act.HAND_OFF, giving.id)
    if giving.id == receiving.id:
        raise InputError(Code.BAD_INPUT, "a session cannot hand over to itself", "name the one that receives")
    if not isinstance(receiving.state, Starting | Running):
        raise ConflictError(
            Code.ENDED,
            f"{receiving.name} ({receiving.id}) has ended and can receive nothing",
            "hand over to its successor, or to another living session",
        )
    context, blocker = await asyncio.to_thread(lambda: (redact(request.context), redact(request.blocker)))
    said = _words(context.text.strip(), blocker.text.strip(), request.urgency)
    ids = await _ids(call)
    await _write(call, giving, receiving, said, ids, _IMPORTANCE[request.urgency])
    return HandedOver(
        from_session=giving.id,
        to_session=receiving.id,
        urgency=request.urgency,
        notes=ids,
        context=context.text.strip(),
        blocker=blocker.text.strip(),
        redacted=context.secrets + blocker.secrets,
        withheld=context.private + blocker.private,
    )


async def _ids(call: Call) -> list[str]:
    """Of the two notes; written down before they are, so that a call that is repeated stores them once."""
    before = await call.app.execution.remembered(call)
    if before:
        return before
    now = call.app.clock.now()
    ids = [call.app.registry.ids.new("r", now) for _ in range(2)]
    await call.app.execution.remember(call, ids)
    return ids


async def _write(call: Call, giving: Session, receiving: Session, said: str, ids: list[str], importance: int) -> None:
    given = _note(call, ids[0], giving, f"Handed over to {receiving.name} ({receiving.id}), {said}", importance)
    taken = _note(call, ids[1], receiving, f"Handed over by {giving.name} ({giving.id}), {said}", importance)

    def write(db: sqlite3.Connection) -> None:
        records.insert(db, given)
        records.insert(db, taken)
        events.append(db, given.created_at, giving.id, call.caller.name, "handed over", to=receiving.id)

    if await call.app.store.get(lambda db: records.get(db, given.id)) is None:
        heard = await call.app.logical_sessions.speak(receiving, call.caller, "received", write, giver=giving.id)
        if heard is None:
            raise ConflictError(
                Code.ENDED, f"{receiving.name} ({receiving.id}) has just ended", "hand over to another living session"
            )
    await call.app.logical_sessions.speak(giving, call.caller, "renewed")


def _note(call: Call, identifier: str, session: Session, text: str, importance: int) -> Record:
    return Record(
        id=identifier,
        type=RecordType.NOTE,
        content=text,
        category="context",  # by which a packet tells it from other notes
        importance=importance,
        created_at=call.app.clock.now(),
        by=call.caller.name,
        source=Source.AGENT,
        project=session.project_id,
        session=session.id,
    )


def _words(context: str, blocker: str, urgency: str) -> str:
    parts = [f"urgency {urgency}"]
    parts += [f"context: {context}"] if context else []
    return "; ".join([*parts, *([f"blocker: {blocker}"] if blocker else [])])
