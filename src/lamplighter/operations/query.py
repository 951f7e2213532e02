"""Seeing sessions: lists, one in full, the audit log."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.selection import parse_selection
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views import EventView, SessionDetail, Sessions


class ListSessions(Request):
    selection: str = Field(
        default="", description="only those that match: idle, kind:cron, cron:*; a comma means and, a plus means or"
    )
    all: bool = Field(default=False, description="also those that have ended")
    limit: int = Field(
        default=10_000,
        ge=1,
        le=100_000,
        description="at most this many, the newest",
        json_schema_extra={"hidden": True},
    )


@operation(command="ls", group="sessions", positional=("selection",))
async def list_sessions(call: Call, request: ListSessions) -> Sessions:
    """List the sessions that are alive: whose they are, since when, how active, memory and CPU of the whole tree.

    Oldest first. With all, or with ended in the selection, those that have ended too. One session in full: show. Who
    started whom: tree.
    """
    selection = parse_selection(request.selection)
    if not selection.groups:
        return await call.app.portrait.list(ended=request.all, limit=request.limit)
    return await call.app.portrait.chosen(selection, call.caller, ended=request.all, limit=request.limit)


class GetSession(Request):
    session: str = Field(description="id, unique beginning of an id, or name")


@operation(command="show", group="sessions", positional=("session",))
async def get_session(call: Call, request: GetSession) -> SessionDetail:
    """Show one session in full: verdict with its evidence, every process of its tree, who ended it and how.

    Also for one that has ended: then with its exit and its death certificate.
    """
    session = await call.app.find(request.session)
    return await call.app.portrait.detail(session, output=call.app.reads(call.caller, session))


class ListEvents(Request):
    session: str | None = Field(default=None, description="only what happened to this one")
    follow: bool = Field(default=False, description="go on with what happens from now on")
    since: int = Field(default=0, ge=0, description="only events numbered higher than this")
    limit: int = Field(default=1000, ge=1, le=100_000, description="at most this many, the newest")


class Events(Result):
    events: list[EventView]


@operation(command="events", group="machine", positional=("session",))
async def list_events(call: Call, request: ListEvents) -> Events:
    """Show the audit log: who did what to which session, and when. Nothing is ever taken out of it.

    With follow, changes of verdict come with the events, as they are seen; they have no number and are not kept.
    """
    session = await call.app.find(request.session) if request.session else None
    events = await call.app.journal.events(session, request.since, request.limit)
    if request.follow:
        last = (events[-1].n if events else None) or request.since
        for event in events:
            await call.emit(event)
        async for event in call.app.journal.follow(session, last):
            await call.emit(event)
        return Events(events=[])
    return Events(events=events)
