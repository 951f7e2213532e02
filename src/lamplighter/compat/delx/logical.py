"""Sessions of agents that only tell of themselves: begun, seen, closed. On no command line: toolsets are made from these, and
`lamp ls`, `show` and `end` are for them as for every other.

No process of theirs is held here; a lease keeps them alive.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from pydantic import Field

from lamplighter.agents import GENERIC
from lamplighter.compat.delx.engine import resumption_of
from lamplighter.domain.duration import parse_duration
from lamplighter.domain.memory.handoff import Handoff, Policy
from lamplighter.domain.memory.record import Record
from lamplighter.domain.memory.succession import policy_of
from lamplighter.domain.name import check_secretless
from lamplighter.domain.permission import Act, is_own
from lamplighter.domain.session import Kind, Session
from lamplighter.domain.states import HasEnded, Running, Starting, intent_of
from lamplighter.domain.text.redaction import redact
from lamplighter.engine.logical.logical_sessions import Announcement
from lamplighter.engine.service.callers import program_of
from lamplighter.errors import Code, InputError, MissingError
from lamplighter.operations.call import Call
from lamplighter.operations.end import EndSession, end_session
from lamplighter.operations.fields import Approval, Redacted, Withheld
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed
from lamplighter.operations.views.common import Moment, StateWord, moment
from lamplighter.store import handoffs, records, sessions


class StartLogical(Request):
    name: str = Field(min_length=1, max_length=200, description="what to call it, as near as names go; made free")
    kind: Kind = Field(default=Kind.TASK, description="what it is for")
    agent: str | None = Field(default=None, max_length=100, description="its program; by default the caller's own")
    project: str | None = Field(default=None, description="what it is about; by default that of the folder")
    cwd: str | None = Field(default=None, description="the folder it works in; by default the caller's")
    lease: str | None = Field(default=None, description="how long it counts as alive after each word; a setting")
    told: dict[str, str] = Field(default_factory=dict, max_length=20, description="what it says of itself")
    shared: dict[str, str] = Field(
        default_factory=dict, max_length=10, description="names that it shares, by namespace"
    )


class NoteView(Result):
    id: str
    at: Moment
    by: str
    text: str


class LogicalView(Result):
    """A logical session, living or ended, with what it leaves."""

    id: str
    name: str
    state: StateWord
    owner: str
    project: str | None
    told: dict[str, str] = Field(description="what it says of itself")
    begun_at: Moment
    spoke_at: Moment | None = Field(description="when it last spoke")
    ended_at: Moment | None
    seconds: float = Field(description="how long it has been, or was, there")
    lease: float = Field(description="seconds that it counts as alive after each word")
    lease_left: float | None = Field(description="seconds that it counts as alive without another word")
    how: str | None
    by: str | None = Field(description="who ended it")
    reason: str | None
    epitaph: str | None
    policy: str = Field(description="whether somebody may go on from it")
    predecessor: str | None
    successor: str | None
    stored: dict[str, int] = Field(description="records that it left, by type")
    notes: list[NoteView]
    summary: dict[str, Any] = Field(description="the last account of it, once it has ended")


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def start_logical(call: Call, request: StartLogical) -> LogicalView:
    """Begin a session for an agent that only tells of itself. It is alive by a lease, which every call about it renews."""
    await allowed(call, Act.START)
    for word in (*request.shared.values(), request.told.get("agent_id", ""), request.agent or ""):
        check_secretless(word, "id")
    session = await call.app.logical_sessions.start(
        Announcement(
            name=(await asyncio.to_thread(redact, request.name)).text,
            kind=request.kind,
            agent=request.agent or program_of(call.app.registry, call.caller) or GENERIC,
            cwd=request.cwd,
            project=request.project,
            lease=_lease(request.lease),
            told=await asyncio.to_thread(_cleaned, request.told),
            shared=request.shared,
        ),
        call.caller,
        call.key,
        repeated=call.repeated,
    )
    return await view_of(call, session)


class GetLogical(Request):
    session: str = Field(description="its id")


@operation(command=None, group="sessions")
async def get_logical(call: Call, request: GetLogical) -> LogicalView:
    """What is known of a logical session, living or ended. Writes nothing, and renews no lease."""
    return await view_of(call, await find_logical(call, request.session))


class CloseLogical(Request):
    session: str = Field(description="its id")
    reason: str = Field(default="", max_length=2000, description="why; kept with the session")
    epitaph: str | None = Field(default=None, max_length=1200, description="a last word, kept with the session")
    policy: Policy | None = Field(default=None, description="whether somebody may go on from here")
    approval: Approval = None


class LogicalClosed(Result):
    session: LogicalView
    closed: bool = Field(description="by this call; false when it had ended before")
    token: str | None = Field(description="the secret of a recovery token, shown once, now")
    token_expires_at: str | None
    redacted: Redacted
    withheld: Withheld

    def to_keep(self) -> LogicalClosed:
        """The secret is not stored, so a repeated key has none to show."""
        return self.model_copy(update={"token": None, "token_expires_at": None})


@operation(command=None, group="sessions", changes=True, act=Act.END)
async def close_logical(call: Call, request: CloseLogical) -> LogicalClosed:
    """End a logical session with a last word and a policy of succession. One that has ended keeps what was said then.

    Whoever it belongs to gets a recovery token, good for a day and for one use, unless nobody may go on from it.
    """
    session = await find_logical(call, request.session)
    async with call.app.logical_sessions.closing(session.id):
        ended, given = await _end(call, request, await call.app.registry.now(session))
    intent = intent_of(ended.state)
    closed = intent is not None and intent.key == call.key
    secret, expires_at = None, None
    agent = ended.told.get("agent_id")
    if agent is not None and is_own(call.caller, ended):
        secret, expires_at = await resumption_of(call.app).issue(ended, agent) or (None, None)
    return LogicalClosed(
        session=await view_of(call, ended),
        closed=closed,
        token=secret,
        token_expires_at=moment(expires_at),
        redacted=given.redacted if given and closed else 0,
        withheld=given.withheld if given and closed else 0,
    )


async def _end(call: Call, request: CloseLogical, session: Session) -> tuple[Session, Handoff | None]:
    """As any session is ended. What is said of one that is on its way already counts for nothing."""
    reason = (await asyncio.to_thread(redact, request.reason)).text
    said: dict[str, Any] = {}
    if isinstance(session.state, Starting | Running):
        said = {"epitaph": request.epitaph, "succession_policy": request.policy}
    wanted = EndSession(session=session.id, reason=reason, approval=request.approval, **said)
    await end_session(call, wanted)
    return await call.app.registry.now(session), await call.app.handoff_writer.left_by(session.id)


# -- views


async def find_logical(call: Call, identifier: str) -> Session:
    """By its whole id alone: whoever tells of itself knows it, and no other is meant by mistake."""
    found = await call.app.registry.get(identifier)
    if found is None or found.lease is None:
        what = "there is none of this id" if found is None else "it has processes here"
        raise MissingError(
            Code.NOT_FOUND,
            f"{identifier[:60]!a} is no session of an agent that tells of itself: {what}",
            "give its whole id, as it was told when the session began",
        )
    return found


async def view_of(call: Call, session: Session) -> LogicalView:
    def read(db: sqlite3.Connection) -> tuple[list[Handoff], list[Record], Session | None]:
        identifier = session.id
        return (
            handoffs.of_session(db, identifier),
            records.notes_of(db, identifier),
            sessions.successor_of(db, identifier),
        )

    left, notes, successor = await call.app.store.get(read)
    return _view(call, session, left, notes, successor.id if successor else None)


def _view(call: Call, session: Session, left: list[Handoff], notes: list[Record], successor: str | None) -> LogicalView:
    ending, lease = session.state.ending if isinstance(session.state, HasEnded) else None, session.lease
    end = session.ended_at or call.app.clock.now()
    told = [one for one in left if not one.inferred]
    return LogicalView.showing(
        session,
        told={str(name): str(text) for name, text in session.told.items()},
        begun_at=session.created_at,
        spoke_at=lease.spoke.wall if lease else None,
        seconds=round(max(0.0, end - session.created_at), 3),
        lease=lease.seconds if lease else 0.0,
        lease_left=round(lease.left(call.app.registry.moment()), 3) if lease and session.alive else None,
        how=ending.how if ending else None,
        by=ending.by if ending else None,
        reason=ending.reason if ending else None,
        epitaph=next((one.epitaph for one in reversed(told) if one.epitaph), None),
        policy=policy_of(left),
        successor=successor,
        stored=_sum(left),
        notes=[NoteView.showing(one, at=one.created_at, text=one.content) for one in notes],
        summary=ending.summary if ending else {},
    )


def _sum(left: list[Handoff]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for handoff in (each for one in left for each in (one, *one.evidence)):
        for kind, count in handoff.stored.items():
            counts[kind] = counts.get(kind, 0) + count
    return counts


def _cleaned(told: dict[str, str]) -> dict[str, str]:
    """Without secrets; an agent's id stays as it is, as it is found by that."""
    return {name: text if name == "agent_id" else redact(text).text for name, text in told.items()}


def _lease(text: str | None) -> float | None:
    if text is None:
        return None
    seconds = parse_duration(text, "lease")
    if seconds <= 0:
        raise InputError(Code.BAD_INPUT, "a lease of nothing is over at once", "write it as 30m, 8h or 2d")
    return seconds
