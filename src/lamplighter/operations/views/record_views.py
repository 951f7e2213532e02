"""The shapes in which records and what was found are shown."""

from __future__ import annotations

import asyncio

from pydantic import Field

from lamplighter.domain.memory.record import Record
from lamplighter.engine.memory.packet_query import stale
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Result
from lamplighter.operations.views.common import Moment
from lamplighter.store import handoffs
from lamplighter.store.recall import Summary
from lamplighter.store.records import carried


class RecordView(Result):
    """One record."""

    id: str
    type: str
    state: str = Field(description="active, resolved, superseded or forgotten")
    content: str
    category: str
    importance: int
    project: str | None = Field(description="identity of the project; none for what holds everywhere")
    project_name: str | None
    session: str | None = Field(description="the session that it came from")
    handoff: str | None
    source: str = Field(description="whose word it is: end_session, agent, inferred, operator or import")
    by: str
    created_at: Moment
    files: list[str] = Field(description="files that it cites")
    commits: list[str] = Field(description="commits that it cites")
    stale: list[str] = Field(description="what has changed since of what it cites")
    carried: int = Field(description="how many hand-offs left it open")
    supersedes: str | None
    superseded_by: str | None
    closed_at: Moment | None
    closed_by: str | None
    closed_why: str | None


class FoundSession(Result):
    """A session that has ended, found by its summary."""

    id: str
    name: str
    agent: str
    project: str | None
    project_name: str | None
    ended_at: Moment | None
    summary: str


async def view_records(call: Call, found: list[Record], *, fresh: bool = False) -> list[RecordView]:
    """With the names of their projects, and what has changed since of what they cite; `fresh` ones were just stored."""
    names = await project_names(call, [record.project for record in found])
    counted = await call.app.store.get(lambda db: carried(db, found))
    aged = {} if fresh else await asyncio.to_thread(stale, found)
    return [_view(record, names, aged.get(record.id, ())) for record in counted]


async def view_sessions(call: Call, found: list[Summary]) -> list[FoundSession]:
    names = await project_names(call, [summary.project for summary in found])
    return [
        FoundSession.showing(summary, id=summary.session, project_name=names.get(summary.project), summary=summary.text)
        for summary in found
    ]


async def project_names(call: Call, projects: list[str | None]) -> dict[str | None, str]:
    wanted = {project for project in projects if project is not None}
    if not wanted:
        return {}
    return await call.app.store.get(lambda db: {one: handoffs.project_name(db, one) for one in wanted})


def _view(record: Record, names: dict[str | None, str], aged: tuple[str, ...]) -> RecordView:
    return RecordView.showing(
        record,
        project_name=names.get(record.project),
        files=[cited.path for cited in record.evidence.files],
        commits=record.evidence.commits,
        stale=aged,
    )
