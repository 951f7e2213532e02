"""What the page sums up: projects with what is kept about each, and sessions as stretches of a day."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.domain.session import Session
from lamplighter.domain.timestamp import read_timestamp
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Nothing, Request, Result, operation
from lamplighter.operations.views.common import Moment, StateWord, moment
from lamplighter.store import timeline

_LONGEST_DAYS = 32
_MOST = 20_000


class ProjectView(Result):
    """One project, and how much is kept about it."""

    id: str | None = Field(description="its identity; none for what holds everywhere")
    name: str | None
    records: int = Field(description="in force, without what was only inferred")
    types: dict[str, int] = Field(description="the same by type")
    inferred: int = Field(description="in force, but only inferred")
    closed: int = Field(description="resolved or superseded")
    handoffs: int
    newest_at: Moment | None


class ProjectList(Result):
    projects: list[ProjectView] = Field(description="the last changed first")


@operation(command=None, group="memory")
async def list_projects(call: Call, _: Nothing) -> ProjectList:
    """List the projects of which something is kept, with how many records of each type."""
    found = await call.app.store.read(timeline.shelves)
    return ProjectList(
        projects=[
            ProjectView.showing(shelf, name=shelf.name or shelf.id, records=sum(shelf.types.values()))
            for shelf in found
        ]
    )


class ListSpans(Request):
    since: str = Field(max_length=40, description="from when: 2026-03-01T00:00:00Z")
    until: str = Field(max_length=40, description="until when, at most 32 days later")
    limit: int = Field(default=5000, ge=1, le=_MOST, description="at most this many that have ended, the last of them")


class SpanView(Result):
    """A session as a stretch of time."""

    id: str
    name: str
    agent: str
    kind: str
    state: StateWord
    project: str | None
    project_id: str | None
    started_at: Moment
    ended_at: Moment | None = Field(description="none while it is alive")
    how: str | None = Field(description="how it ended")
    exit: dict[str, Any] | None = Field(description="what its own command exited with: a code or a signal")
    cpu: float | None = Field(description="CPU seconds, where that is known")
    memory: int | None = Field(description="bytes: now, or what was seen last")
    tokens: dict[str, int] | None


class Spans(Result):
    spans: list[SpanView] = Field(description="in the order in which they started")
    left_out: int = Field(description="how many more ended ones there are")
    first_at: str | None = Field(description="when the first session of all started")


@operation(command=None, group="sessions")
async def list_spans(call: Call, request: ListSpans) -> Spans:
    """List the sessions that lived in a stretch of time, ended and living, with what each has used."""
    since, until = _moment(request.since), _moment(request.until)
    if not 0 < until - since <= _LONGEST_DAYS * 86_400:
        raise InputError(
            Code.BAD_INPUT,
            f"from {request.since} until {request.until} is no stretch of time that can be listed",
            f"the end comes after the beginning, at most {_LONGEST_DAYS} days later",
        )
    ended, left_out = await call.app.store.read(lambda db: timeline.spans(db, since, until, request.limit))
    first = await call.app.store.read(timeline.first_start)
    alive = [live.session for live in call.app.registry.live_sessions.values() if _began(live.session) < until]
    views = [SpanView.showing(span, state="ended") for span in ended]
    known = {view.id for view in views}
    views += [view for view in await _living(call, alive, since) if view.id not in known]
    views.sort(key=lambda view: (view.started_at, view.id))
    return Spans(spans=views, left_out=left_out, first_at=moment(first))


async def _living(call: Call, alive: list[Session], since: float) -> list[SpanView]:
    """Those that have not ended reach until now."""
    if call.app.clock.now() <= since:
        return []
    return [
        SpanView.showing(
            found.session,
            started_at=_began(found.session),
            ended_at=None,
            how=None,
            exit=None,
            cpu=round(found.measure.cpu, 2),
            memory=found.measure.memory,
            tokens=call.app.session_views.usage.known(found.session),
        )
        for found in await call.app.session_views.assessor.assess(alive, 2.0)
    ]


def _began(session: Session) -> float:
    return session.started_at or session.created_at


def _moment(text: str) -> float:
    found = read_timestamp(text)
    if found is None:
        raise InputError(Code.BAD_INPUT, f"this is no time: {text[:40]!a}", "write 2026-03-01 or 2026-03-01T09:30:00Z")
    return found
