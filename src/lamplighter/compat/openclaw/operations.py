"""Sessions by the keys that openclaw has for them: listed, found, taken out of the lists. On no command line: the openclaw tools
are made from these.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from pydantic import Field

from lamplighter.compat.openclaw.keys import find, keys_of, kind_of, label_of
from lamplighter.domain.ending import How
from lamplighter.domain.permission import Act
from lamplighter.domain.selection import Selection, SelectionSubject, parse_selection
from lamplighter.domain.session import Session
from lamplighter.domain.states import BeingEnded, HasEnded, intent_of
from lamplighter.domain.text.echo import Echo
from lamplighter.errors import Code, ConflictError, LampError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import permitted, reads
from lamplighter.operations.views.common import SessionView
from lamplighter.store import aliases, events, sessions

SHOWN_SECONDS = 86400.0
"""How long an ended session is in the lists, unless somebody takes it out."""
_MOST_ENDED, _MOST_LIVING = 2000, 10_000
_MINE = parse_selection("mine")


class KeyedSession(Result):
    """What the tools need to know of one session."""

    id: str
    key: str
    name: str
    agent: str
    alive: bool
    status: str = Field(description="running, ending; of an ended one done, failed, killed, timeout or lost")
    logged: bool = Field(description="what it prints is logged; not of one that is known by its processes alone")
    echo: Echo = Field(description="how what is said to it shows in its output")
    readable: bool = Field(description="the caller may read its output without asking")
    output: int = Field(description="bytes that it had printed when it ended")


class ListedSession(KeyedSession):
    kind: str
    label: str | None
    parent: str | None = Field(description="the key of the session that started it")
    verdict: str
    quiet: float = Field(description="seconds since it last did something")
    mine: bool
    exit: str | None = Field(description="how its main process ended, in words, where that is known")
    updated_at: float
    started_at: float | None
    ended_at: float | None


class KeyedSessions(Result):
    sessions: list[ListedSession] = Field(description="the newest first")
    total: int = Field(description="how many there are before offset and limit")


class ListKeyed(Request):
    """All that are asked for have to hold together."""

    kinds: list[str] | None = None
    active_seconds: float | None = Field(default=None, description="with a sign of life in the last so many seconds")
    label: str | None = None
    search: str | None = Field(default=None, description="a text in key, name, label, agent or folder")
    over: str | None = Field(default=None, description="ended, the caller's own, and matching this selection")
    quiet_seconds: float | None = Field(default=None, description="without a sign of life for so many seconds")
    offset: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1)


@operation(command=None, group="sessions")
async def list_openclaw_sessions(call: Call, request: ListKeyed) -> KeyedSessions:
    """List the living, and those that ended by themselves of late and nobody has taken out since. The newest first."""
    app = call.app
    now = app.clock.now()
    views = {view.id: view for view in (await app.session_views.list(ended=False, limit=_MOST_LIVING)).sessions}
    ended = await app.store.read(lambda db: sessions.ended_since(db, now - SHOWN_SECONDS, _MOST_ENDED))
    living = [app.registry.live_sessions[name].session for name in views if name in app.registry.live_sessions]
    found = {each.id: each for each in (*(one for one in ended if not _was_removed(one)), *living)}
    keys = await keys_of(app, found.values())
    listed = [one for one in found.values() if one.alive or not keys[one.id][1]]
    listed.sort(key=lambda one: one.id, reverse=True)
    known = {one.id: keys[one.id][0] for one in listed}
    over = parse_selection(request.over) if request.over is not None else None
    chosen = [one for one in listed if _is_wanted(call, request, one, known, _quiet(one, views, now), over)]
    page = chosen[request.offset :][: request.limit]
    parents = await _parents(call, page)
    rows = [_listed(call, one, known[one.id], views, parents, now) for one in page]
    return KeyedSessions(sessions=rows, total=len(chosen))


def _was_removed(session: Session) -> bool:
    """Somebody ended it, so it is gone; or nothing of it was to be kept."""
    intent = intent_of(session.state)
    return session.discarded or (intent is not None and intent.by not in ("patrol", "lamplighter"))


def _quiet(session: Session, views: Mapping[str, SessionView], now: float) -> float:
    view = views.get(session.id) if session.alive else None
    return max(0.0, view.quiet_for if view else now - (session.ended_at or now))


def _is_wanted(
    call: Call, request: ListKeyed, session: Session, keys: Mapping[str, str], quiet: float, over: Selection | None
) -> bool:
    if request.kinds is not None and kind_of(session) not in request.kinds:
        return False
    if request.active_seconds is not None and quiet > request.active_seconds:
        return False
    if request.quiet_seconds is not None and quiet < request.quiet_seconds:
        return False
    if request.label is not None and request.label not in session.labels:
        return False
    if over is not None:
        named = {session.name: session.id, **{key: identifier for identifier, key in keys.items()}}
        subject = SelectionSubject(session, known_as=keys[session.id], host=call.app.selector.host)
        if session.alive or not _is_mine(call, session) or not over.matches(subject, call.caller, named):
            return False
    texts = (keys[session.id], session.name, session.agent, session.cwd, *session.labels)
    return request.search is None or any(request.search.lower() in text.lower() for text in texts)


def _is_mine(call: Call, session: Session) -> bool:
    return _MINE.matches(SelectionSubject(session), call.caller, {})


async def _parents(call: Call, page: Sequence[Session]) -> dict[str, str]:
    """By id the keys of the sessions that started these."""
    wanted = {one.parent for one in page if one.parent}

    def read(db: sqlite3.Connection) -> list[Session]:
        return [one for one in (sessions.get(db, name) for name in wanted) if one is not None]

    found = await call.app.store.get(read)
    return {name: key for name, (key, _) in (await keys_of(call.app, found)).items()}


def _listed(
    call: Call,
    session: Session,
    key: str,
    views: Mapping[str, SessionView],
    parents: Mapping[str, str],
    now: float,
) -> ListedSession:
    quiet, view = _quiet(session, views, now), views.get(session.id) if session.alive else None
    exit = session.state.ending.exit if isinstance(session.state, HasEnded) else None
    return ListedSession(
        **_keyed(call, session, key).model_dump(),
        kind=kind_of(session),
        label=label_of(session),
        parent=parents.get(session.parent or ""),
        verdict=view.verdict if view else "ended",
        quiet=quiet,
        mine=_is_mine(call, session),
        exit=exit.words if exit else None,
        updated_at=now - quiet,
        started_at=session.started_at,
        ended_at=session.ended_at,
    )


def _keyed(call: Call, session: Session, key: str) -> KeyedSession:
    return KeyedSession.showing(
        session,
        key=key,
        status=status_of(session),
        logged=session.shim is not None,
        echo=call.app.backends.of(session).echo,
        readable=reads(call.app, call.caller, session),
        output=session.facts.output or 0,
    )


def status_of(session: Session) -> str:
    """running or ending; of one that has ended how: done, failed, killed, timeout, lost."""
    if not isinstance(session.state, HasEnded):
        return "ending" if isinstance(session.state, BeingEnded) else "running"
    ending, intent = session.state.ending, session.state.intent
    if ending.how is How.LOST:
        return "lost"
    if intent is not None:
        return "timeout" if intent.by == "patrol" else "killed"
    exit = ending.exit
    return "done" if exit is not None and exit.code == 0 else "failed"


class FindKeyed(Request):
    word: str = Field(min_length=1, max_length=200, description="its key, id or name")


@operation(command=None, group="sessions", act=Act.FIND)
async def find_openclaw_session(call: Call, request: FindKeyed) -> KeyedSession:
    """The session of this key, also of one that has ended."""
    session = await find(call.app, request.word)
    return _keyed(call, session, (await keys_of(call.app, [session]))[session.id][0])


class RetireSessions(Request):
    namespace: str = Field(pattern=r"^[a-z]{1,20}$", description="whose names")
    names: dict[str, str] = Field(max_length=1000, description="what each is called there, by id; all have ended")


class Retired(Result):
    retired: list[str] = Field(description="the ids of those that are in no list of this namespace any more")
    errors: dict[str, dict[str, object]] = Field(description="by id, why another is not")


@operation(command=None, group="sessions", changes=True, act=Act.END)
async def retire_sessions(call: Call, request: RetireSessions) -> Retired:
    """Take sessions that have ended out of the lists of a namespace, for good. What is kept of them stays where it is.

    Only whoever may end a session may; each name is given to no other session any more.
    """
    done: list[str] = []
    errors: dict[str, dict[str, object]] = {}
    for identifier, value in request.names.items():
        try:
            await _retire(call, await permitted(call, Act.END, identifier), request.namespace, value)
            done.append(identifier)
        except LampError as error:
            errors[identifier] = error.document()
    return Retired(retired=done, errors=errors)


async def _retire(call: Call, session: Session, namespace: str, value: str) -> None:
    if session.alive:
        raise ConflictError(
            Code.ACTIVE,
            f"{session.name} ({session.id}) has not ended",
            "end it first; then it can be taken out of lists",
        )
    now = call.app.clock.now()

    def write(db: sqlite3.Connection) -> None:
        given = aliases.of_sessions(db, namespace, [session.id]).get(session.id)
        if given is not None and given[1] is not None:
            return
        if given is None and not aliases.give(db, namespace, value, session.id, now):
            aliases.give(db, namespace, f"{value}#{session.id}", session.id, now)
        aliases.end(db, namespace, session.id, now)
        events.append(db, now, session.id, call.caller.name, "retire", namespace=namespace)

    await call.app.store.write(write)
    call.app.registry.announce()
