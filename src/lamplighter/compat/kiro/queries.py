"""Seeing sessions of kiro-cli: which there are, what became of each turn, what was said. On no command line."""

from __future__ import annotations

from pydantic import Field

from lamplighter.compat.kiro import store
from lamplighter.compat.kiro.engine import kiro_of
from lamplighter.compat.kiro.model import KiroSession, Turn
from lamplighter.domain.session import Session
from lamplighter.errors import Code, MissingError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Nothing, Request, Result, operation
from lamplighter.operations.views.common import Moment


class KiroSessionView(Result):
    id: str
    agent: str | None
    working_directory: str
    created_at: Moment
    last_active: Moment
    is_active: bool


class KiroTurnView(Result):
    """`run` is the session of ours that the turn is."""

    task_id: str
    session_id: str
    kind: str
    status: str
    is_done: bool
    message: str
    created_at: Moment
    started_at: Moment | None = Field(description="when its process did")
    ended_at: Moment | None
    duration: float | None = Field(description="seconds since it started; until it ended")
    run: str | None
    chunks: list[str] = Field(description="from the index that was asked for on")
    times: list[Moment] = Field(description="when each of these chunks came")
    total_chunks: int
    total_bytes: int
    content: str | None = Field(description="all of it, once it is done")
    errors: str
    failure: str
    exit_code: int | None


def session_view(session: KiroSession, active: str | None) -> KiroSessionView:
    return KiroSessionView.showing(session, is_active=session.id == active)


def turn_view(turn: Turn, run: Session | None, now: float, since: int = 0) -> KiroTurnView:
    began = run.created_at if run else None
    # Those of before have no times: then what is known is when it was over.
    times = [*turn.times, *[turn.ended_at or turn.created_at] * (len(turn.chunks) - len(turn.times))]
    return KiroTurnView.showing(
        turn,
        task_id=turn.id,
        session_id=turn.session,
        status=turn.state,
        is_done=turn.done,
        started_at=began,
        duration=None if began is None else max(0.0, round((turn.ended_at or now) - began, 3)),
        run=run.id if run else None,
        chunks=turn.chunks[since:],
        times=times[since:],
        total_chunks=len(turn.chunks),
        total_bytes=sum(len(chunk.encode(errors="replace")) for chunk in turn.chunks),
        content=turn.content if turn.done else None,
    )


class KiroSessions(Result):
    sessions: list[KiroSessionView]
    active: str | None


@operation(command=None, group="sessions")
async def list_kiro_sessions(call: Call, request: Nothing) -> KiroSessions:
    """The caller's own sessions of kiro-cli, the oldest first."""
    del request
    await kiro_of(call.app).sweep()
    owner = call.caller.name
    found = await call.app.store.get(lambda db: store.open_sessions(db, owner))
    active = await call.app.store.get(lambda db: store.active(db, owner))
    return KiroSessions(sessions=[session_view(one, active) for one in found], active=active)


class GetKiroTurn(Request):
    task_id: str = Field(max_length=100, description="the task")
    since: int = Field(default=0, ge=0, description="only chunks from this index on")


@operation(command=None, group="sessions")
async def get_kiro_turn(call: Call, request: GetKiroTurn) -> KiroTurnView:
    """What became of something that was said to kiro-cli, and what it has answered so far."""
    turn = await call.app.store.get(lambda db: store.turn(db, request.task_id, call.caller.name))
    if turn is None:
        raise MissingError(
            Code.NOT_FOUND,
            f"there is no task {request.task_id[:60]!a} of yours",
            "kiro_task_list lists those there are",
            task_id=request.task_id,
        )
    settled, run = await kiro_of(call.app).settle(turn), await kiro_of(call.app).run_of(turn)
    return turn_view(settled, run, call.app.clock.now(), request.since)


class ListKiroTurns(Request):
    session_id: str | None = Field(default=None, max_length=100, description="only of this session")
    done: bool = Field(default=False, description="also those that are done")


class KiroTurns(Result):
    turns: list[KiroTurnView]


@operation(command=None, group="sessions")
async def list_kiro_turns(call: Call, request: ListKiroTurns) -> KiroTurns:
    """What the caller has said to its sessions of kiro-cli, and what became of it, the oldest first; without the texts."""
    await kiro_of(call.app).sweep()
    found = await call.app.store.get(lambda db: store.turns_of(db, call.caller.name, request.session_id, request.done))
    settled = [await kiro_of(call.app).settle(turn) for turn in found]
    kept = [turn for turn in settled if request.done or not turn.done]
    now = call.app.clock.now()
    shown = [turn_view(turn, await kiro_of(call.app).run_of(turn), now, len(turn.chunks)) for turn in kept]
    return KiroTurns(turns=[one.model_copy(update={"content": None}) for one in shown])


class ReadKiroHistory(Request):
    session_id: str | None = Field(default=None, max_length=100, description="the session; the active one by default")
    limit: int = Field(default=50, ge=1, le=10_000, description="at most this many, the newest")


class RemarkView(Result):
    role: str
    content: str
    timestamp: Moment


class KiroHistory(Result):
    session: KiroSessionView
    history: list[RemarkView]


@operation(command=None, group="sessions")
async def read_kiro_history(call: Call, request: ReadKiroHistory) -> KiroHistory:
    """What was said in a session of kiro-cli, the oldest first."""
    await kiro_of(call.app).sweep()
    owner = call.caller.name
    active = await call.app.store.get(lambda db: store.active(db, owner))
    wanted = request.session_id if request.session_id is not None else active
    found = await call.app.store.get(lambda db: store.session(db, wanted, owner)) if wanted else None
    if found is None:
        raise MissingError(
            Code.NOT_FOUND,
            f"there is no session {(wanted or '')[:60]!a} of yours" if wanted else "no session is active",
            "kiro_session_list lists those there are; kiro_session_create makes one",
            session_id=request.session_id,
        )
    said = await call.app.store.read(lambda db: store.history(db, found.id, request.limit))
    shown = [RemarkView.showing(one, timestamp=one.at) for one in said]
    return KiroHistory(session=session_view(found, active), history=shown)
