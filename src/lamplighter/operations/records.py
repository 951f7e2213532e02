"""Keeping and finding: storing records, searching and listing them, and closing what is done, wrong or to be forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from lamplighter.domain.duration import parse_duration
from lamplighter.domain.memory.record import LONGEST, RecordState, RecordType, Source
from lamplighter.domain.permission import Act
from lamplighter.domain.text.search_text import query, storable
from lamplighter.domain.timestamp import read_timestamp
from lamplighter.engine.memory.projects import Project
from lamplighter.engine.memory.records import Nature, RecordDraft
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Folder, ProjectWord, Redacted, Withheld
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed, reads
from lamplighter.operations.views.record_views import (
    FoundSession,
    RecordView,
    project_names,
    view_records,
    view_sessions,
)
from lamplighter.store.recall import Filter, Summary

_MOST = 100
_SESSIONS = 5

Category = Literal["preference", "lesson", "context", "relationship", "general"]


def _whole(given: Any) -> Any:
    return storable(given) if isinstance(given, str) else given


Text = Annotated[str, BeforeValidator(_whole)]
"""Any text; what no store takes of it is replaced."""


def _asked(given: Any) -> Any:
    return storable(given.replace("\0", " ")) if isinstance(given, str) else given


class NewRecord(Request):
    """One text to keep."""

    content: Text = Field(max_length=LONGEST, description="what is to be known, in a sentence or two")
    type: RecordType = Field(default=RecordType.NOTE, description="what it is")
    category: Category | None = Field(default=None, description="by default that of its type")
    importance: int | None = Field(default=None, ge=1, le=10, description="by default that of its type")
    files: list[Text] = Field(default_factory=list, max_length=20, description="files that it rests on")
    commits: list[Text] = Field(default_factory=list, max_length=20, description="commits that it rests on")


class _Placed(Request):
    project: ProjectWord = None
    folder: Folder = None


class StoreRecords(_Placed):
    records: list[NewRecord] = Field(min_length=1, max_length=_MOST, description="what to keep, all of it or nothing")
    everywhere: bool = Field(default=False, description="for every project")


class StoredRecords(Result):
    records: list[RecordView] = Field(description="one for each text, in their order")
    stored: int = Field(description="how many are new; the others were in force already, word for word")
    project: str | None
    redacted: Redacted
    withheld: Withheld


@operation(command=None, group="memory", changes=True, act=Act.RECORD)
async def store_records(call: Call, request: StoreRecords) -> StoredRecords:
    """Store what later sessions should know: notes, decisions, constraints, warnings, preferences, open loops.

    Secrets of well-known forms are removed and counted; text in <private>…</private> is never stored. A text that is in force
    already, word for word, is returned and not stored again. Nothing is overwritten: to correct a record, supersede it.
    """
    await allowed(call, Act.RECORD)
    if request.everywhere and request.project is not None:
        raise InputError(Code.BAD_INPUT, "it is either everywhere or in a project", "leave out one of the two")
    project = None if request.everywhere else await _project(call, request)
    items = [
        RecordDraft(new.content, new.type, new.category, new.importance, tuple(new.files), tuple(new.commits))
        for new in request.records
    ]
    kept = await call.app.memory.store(items, project, call.caller, call.key, request.folder)
    return StoredRecords(
        records=await view_records(call, kept.records, fresh=True),
        stored=len(kept.new),
        project=project.id if project else None,
        redacted=kept.redacted,
        withheld=kept.withheld,
    )


async def _project(call: Call, request: _Placed) -> Project:
    if request.project is not None:
        return await call.app.projects.resolve(request.project, request.folder, new=True)
    found = await call.app.projects.of_caller(call.caller, request.folder)
    if found is None:
        raise InputError(
            Code.BAD_INPUT, "which project this is about was not said", "name one, or say that it holds everywhere"
        )
    return found


class _Wanted(_Placed):
    everywhere: bool = Field(default=False, description="only records for every project")
    all: bool = Field(default=False, description="in all projects")
    types: list[RecordType] = Field(default_factory=list, max_length=9, description="only this type; repeatable")
    state: Literal["active", "resolved", "superseded", "forgotten", "all"] = Field(
        default="active", description="only this state"
    )
    after: str | None = Field(
        default=None, max_length=40, description="only records newer than this: 8h, 7d, or a date such as 2026-03-01"
    )
    before: str | None = Field(default=None, max_length=40, description="only records older than this")
    category: Category | None = Field(default=None, description="only this category")
    source: Source | None = Field(default=None, description="only this source")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="skip this many records")


class SearchRecords(_Wanted):
    query: Annotated[str, BeforeValidator(_asked)] = Field(
        max_length=1_000_000, description="what to search for: any words, a sentence, a name, a path"
    )
    limit: int = Field(default=10, ge=1, le=_MOST, description="at most this many records")


class ListRecords(_Wanted):
    limit: int = Field(default=50, ge=1, le=1000, description="at most this many records")


class Records(Result):
    records: list[RecordView]
    total: int = Field(description="how many there are, of which these are some; of a search 1000 means that or more")
    project: str | None = Field(
        description="the project that was looked in, beside what holds everywhere; none for all, or none"
    )
    project_name: str | None


class FoundRecords(Records):
    """Records, and sessions that have ended: each for itself, the best first."""

    sessions: list[FoundSession] = Field(description="sessions that have ended and whose summaries fit, the best first")


@operation(command="recall", group="memory", positional=("query",))
async def search_records(call: Call, request: SearchRecords) -> FoundRecords:
    """Search records, and the summaries of ended sessions, best match first.

    recall searches the project of the caller's folder and the records for every project; --all searches all projects. Any
    text is a query: there is no syntax, word endings and accents do not matter, and very common words are ignored. To list
    without a search: records.
    """
    asked = query(request.query)
    wanted, project = await _filter(call, request)
    sessions = _SESSIONS if not request.offset and not request.everywhere else 0
    found = await call.app.memory.search(asked, wanted, request.limit, request.offset, sessions)
    return FoundRecords(
        records=await view_records(call, found.records),
        total=found.total,
        sessions=await view_sessions(call, await _readable(call, found.sessions)),
        **await _place(call, project),
    )


async def _readable(call: Call, found: list[Summary]) -> list[Summary]:
    """Those whose output the caller may read: the last of it is in a summary, and what is found tells of it too."""
    if not call.app.settings.reads_own:
        return found
    return [one for one in found if reads(call.app, call.caller, await call.app.registry.by_id(one.session))]


@operation(command="records", group="memory")
async def list_records(call: Call, request: ListRecords) -> Records:
    """List records, newest first: those of the caller's project and those for every project.

    Lists active records unless --state says otherwise, and inferred ones only with --source inferred. To search: recall.
    """
    wanted, project = await _filter(call, request)
    if request.source is None:
        wanted = replace(wanted, sources=tuple(one for one in Source if one is not Source.INFERRED))
    found = await call.app.memory.list(wanted, request.limit, request.offset)
    return Records(records=await view_records(call, found.records), total=found.total, **await _place(call, project))


async def _filter(call: Call, request: _Wanted) -> tuple[Filter, Project | None]:
    if sum((request.everywhere, request.all, request.project is not None)) > 1:
        raise InputError(
            Code.BAD_INPUT,
            "a project, all of them, and what holds everywhere exclude each other",
            "leave out all but one",
        )
    project = None
    if request.project is not None:
        project = await call.app.projects.resolve(request.project, request.folder)
    elif not request.all and not request.everywhere:
        project = await call.app.projects.of_caller(call.caller, request.folder)
    now = call.app.clock.now()
    wanted = Filter(
        projects=None if request.all else (project.id,) if project else (),
        types=tuple(request.types),
        states=tuple(RecordState) if request.state == "all" else (RecordState(request.state),),
        sources=(request.source,) if request.source else (),
        category=request.category,
        since=_moment(request.after, now, "after"),
        until=_moment(request.before, now, "before"),
    )
    return wanted, project


async def _place(call: Call, project: Project | None) -> dict[str, str | None]:
    if project is None:
        return {"project": None, "project_name": None}
    names = await project_names(call, [project.id])
    return {"project": project.id, "project_name": project.name or names[project.id]}


def _moment(text: str | None, now: float, what: str) -> float | None:
    """A date, or so long ago."""
    if text is None:
        return None
    if (found := read_timestamp(text)) is not None:
        return found
    try:
        return now - parse_duration(text, what)
    except InputError:
        raise InputError(
            Code.BAD_INPUT, f"{what} is no time: {text[:40]!a}", "write 8h, 7d, 2026-03-01 or 2026-03-01T09:30"
        ) from None


class UpdateRecord(Request):
    action: Literal["resolve", "supersede", "forget"] = Field(description="what to do")
    records: list[str] = Field(
        min_length=1, max_length=_MOST, description="ids, or unique beginnings of them; one when it is superseded"
    )
    content: Text | None = Field(default=None, max_length=LONGEST, description="supersede: what holds instead")
    type: RecordType | None = Field(default=None, description="supersede: of another type than before")
    category: Category | None = Field(default=None, description="supersede: in another category than before")
    importance: int | None = Field(default=None, ge=1, le=10, description="supersede: more or less important")
    why: Text | None = Field(default=None, max_length=2000, description="resolve, forget: how, or why")
    hard: bool = Field(
        default=False, description="forget: really delete it, from the index and free pages too; the operator's alone"
    )
    folder: Folder = None


class UpdatedRecords(Result):
    records: list[RecordView] = Field(
        description="as they are now; when one is superseded, the new one and then the old"
    )
    erased: list[str] = Field(default_factory=list, description="ids of those of which nothing is left")
    pending: bool = Field(
        default=False, description="free pages are still to be written anew, and are when the daemon starts next"
    )
    redacted: int = 0
    withheld: int = 0


@operation(command=None, group="memory", changes=True, act=Act.RECORD)
async def update_record(call: Call, request: UpdateRecord) -> UpdatedRecords:
    """Close records: resolve what is done, supersede what holds no more by what does, forget what should not be shown again.

    Nothing is overwritten: superseding makes a new record that names the old one, and with another type it confirms, say, an
    inferred note as a constraint. What is forgotten stays in the store, unless the operator forgets it hard. An agent cannot
    close what the operator stored.
    """
    await allowed(call, Act.RECORD)
    _check(request)
    if request.hard:
        await allowed(call, Act.FORGET)
        ids = await call.app.execution.remembered(call)
        if not ids:
            ids = await call.app.memory.named(request.records)
            await call.app.execution.remember(call, ids)
        done = await call.app.memory.erase(ids, call.caller)
        return UpdatedRecords(records=[], erased=ids, pending=not done)
    if request.action == "supersede":
        kept = await call.app.memory.supersede(
            request.records[0],
            request.content,
            Nature(request.type, request.category, request.importance),
            call.caller,
            call.key,
            request.folder,
        )
        views = await view_records(call, kept.records, fresh=True)
        return UpdatedRecords(records=views, redacted=kept.redacted, withheld=kept.withheld)
    state = RecordState.RESOLVED if request.action == "resolve" else RecordState.FORGOTTEN
    closed = await call.app.memory.close(request.records, state, request.why, call.caller)
    return UpdatedRecords(records=await view_records(call, closed, fresh=True))


def _check(request: UpdateRecord) -> None:
    """BAD_INPUT for what does not go with the action."""
    superseding = request.action == "supersede"
    regraded = request.category is not None or request.importance is not None
    problems = (
        (superseding and len(request.records) > 1, "one record is superseded at a time"),
        (superseding and not request.content and not regraded, "what holds instead was not said"),
        (superseding and request.content == "", "the new text is empty"),
        (not superseding and request.content is not None, f"{request.action} takes no new text"),
        (not superseding and request.type is not None, f"{request.action} takes no type"),
        (not superseding and regraded, f"{request.action} takes neither category nor importance"),
        (superseding and request.why is not None, "supersede takes no why: the new text says it"),
        (request.hard and request.action != "forget", f"{request.action} cannot be hard"),
    )
    for wrong, said in problems:
        if wrong:
            raise InputError(Code.BAD_INPUT, said, "resolve and forget take ids and why, supersede one id and a text")
