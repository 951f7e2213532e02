"""Seeing sessions: lists, one in full, their names for completion, the audit log."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.selection import parse_selection
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, SessionWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import reads
from lamplighter.operations.views.common import EventView, SessionDetail, Sessions
from lamplighter.store import sessions


class ListSessions(Request):
    selection: str = Field(
        default="", description="only matching sessions: idle, kind:cron, cron:*; a comma means and, a plus means or"
    )
    all: bool = Field(default=False, description="also ended sessions")
    limit: int = Field(
        default=10_000,
        ge=1,
        le=100_000,
        description="at most this many, the newest",
        json_schema_extra=HIDDEN,
    )


@operation(command="ls", group="sessions", positional=("selection",))
async def list_sessions(call: Call, request: ListSessions) -> Sessions:
    """List living sessions: owner, age, activity, and memory and CPU of the whole process tree.

    Oldest first. With --all, or with ended in the selection, ended sessions are listed too. For one session in full: show.
    For who started whom: tree.
    """
    selection = parse_selection(request.selection)
    if not selection.groups:
        return await call.app.session_views.list(ended=request.all, limit=request.limit)
    return await call.app.session_views.chosen(selection, call.caller, ended=request.all, limit=request.limit)


class GetSession(Request):
    session: SessionWord


@operation(command="show", group="sessions", positional=("session",))
async def get_session(call: Call, request: GetSession) -> SessionDetail:
    """Show one session in full: verdict with its evidence, every process of its tree, who ended it and how.

    An ended session is shown with its exit and its death certificate.
    """
    session = await call.app.registry.find(request.session)
    return await call.app.session_views.detail(session, output=reads(call.app, call.caller, session))


class ListEvents(Request):
    session: str | None = Field(default=None, description="only events of this session")
    follow: bool = Field(default=False, description="keep printing new events")
    since: int = Field(default=0, ge=0, description="only events with a number higher than this")
    limit: int = Field(default=1000, ge=1, le=100_000, description="at most this many, the newest")


class Events(Result):
    events: list[EventView]


@operation(command="events", group="machine", positional=("session",))
async def list_events(call: Call, request: ListEvents) -> Events:
    """Show the audit log: who did what to which session, and when. Nothing is ever removed from it.

    With --follow, changes of verdict are shown too, as they are seen; they have no number and are not stored.
    """
    session = await call.app.registry.find(request.session) if request.session else None
    events = await call.app.journal.events(session, request.since, request.limit)
    if request.follow:
        last = (events[-1].n if events else None) or request.since
        for event in events:
            await call.emit(event)
        async for event in call.app.journal.follow(session, last):
            await call.emit(event)
        return Events(events=[])
    return Events(events=events)


class ListNames(Request):
    ended: int = Field(default=0, ge=0, le=10_000, description="also this many of those that have ended, the newest")


class Names(Result):
    names: list[tuple[str, str, str, str, str, str]] = Field(
        description="id, name, state, kind, project and owner of each; the living first, the newest first"
    )


@operation(command=None, group="sessions")
async def list_names(call: Call, request: ListNames) -> Names:
    """What the sessions are called, as completion wants it. With verdicts: list_sessions."""
    living = (live.session for live in call.app.registry.live_sessions.values())
    found = [(s.id, s.name, s.state.word, s.kind.value, s.project or "", s.owner) for s in living]
    found.sort(reverse=True)
    if request.ended:
        found += await call.app.registry.store.read(lambda db: sessions.ended_names(db, request.ended))
    return Names.model_construct(names=found)
