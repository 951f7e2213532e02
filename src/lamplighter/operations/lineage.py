"""Who went on from whom: the line of a session, and the hand-offs that still wait for somebody."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.succession import policy_of
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded
from lamplighter.operations.call import Call
from lamplighter.operations.fields import SessionWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views.common import Moment, StateWord
from lamplighter.store import handoffs, sessions


class GetLineage(Request):
    session: SessionWord


class Generation(Result):
    """One session of a line."""

    id: str
    name: str
    agent: str
    state: StateWord
    project: str | None
    predecessor: str | None
    depth: int = Field(description="how many came before it, from the first that is shown")
    started_at: Moment | None
    ended_at: Moment | None
    how: str | None = Field(description="how it ended")
    succession_policy: str
    handoff: str | None = Field(description="the last words that it left, in a line")
    inferred: bool = Field(description="nobody wrote a hand-off: it is inferred from what could be seen")
    asked: bool = Field(default=False, description="it is the one that was asked for")


class Lineage(Result):
    id: str
    generations: list[Generation] = Field(description="the first of the line first; after a fork, branch by branch")
    cut: bool = Field(default=False, description="the line is longer: ask for its first or last here to see more of it")


@operation(command="lineage", group="memory", positional=("session",))
async def get_lineage(call: Call, request: GetLineage) -> Lineage:
    """Draw the lineage of a session: its predecessors and successors."""
    asked = await call.app.registry.find(request.session)
    first = asked
    seen = {asked.id}
    while first.predecessor is not None and first.predecessor not in seen and len(seen) < _MOST // 2:
        seen.add(first.predecessor)
        before = await call.app.store.get(lambda db, wanted=first.predecessor: sessions.get(db, wanted))
        if before is None:
            break
        first = before
    found: list[Generation] = []
    todo = [(first, 0)]
    while todo and len(found) < _MOST:
        session, depth = todo.pop()
        found.append(await _generation(call, await call.app.registry.now(session), depth, asked.id))
        after = await call.app.store.get(lambda db, wanted=session.id: sessions.successors(db, wanted))
        todo += [(one, depth + 1) for one in reversed(after) if one.id != first.id]
    beyond = first.predecessor is not None and first.predecessor not in seen
    return Lineage(id=asked.id, generations=found, cut=bool(todo) or beyond)


_MOST = 1000


async def _generation(call: Call, session: Session, depth: int, asked: str) -> Generation:
    left = await call.app.store.get(lambda db: handoffs.of_session(db, session.id))
    said = [handoff for handoff in left if not handoff.inferred] or left
    return Generation.showing(
        session,
        depth=depth,
        how=session.state.ending.how if isinstance(session.state, HasEnded) else None,
        succession_policy=policy_of(left),
        handoff=said[-1].summary if said else None,
        inferred=bool(said) and said[-1].inferred,
        asked=session.id == asked,
    )


class ListHandoffs(Request):
    project: str | None = Field(default=None, max_length=1000, description="only this project")
    waiting: bool = Field(default=False, description="only hand-offs that require a successor and have none")
    limit: int = Field(default=20, ge=1, le=1000, description="at most this many")


class HandoffLine(Result):
    id: str
    session: str | None
    name: str | None
    project: str | None
    at: Moment
    source: str
    succession_policy: str | None
    successor: str | None = Field(description="the session that went on from it")
    waiting: bool = Field(description="it requires a successor and has none")
    summary: str


class Handoffs(Result):
    handoffs: list[HandoffLine]


@operation(command="handoffs", group="memory")
async def list_handoffs(call: Call, request: ListHandoffs) -> Handoffs:
    """List hand-offs, newest first. With --waiting, only those that require a successor and have none."""
    waiting = await call.app.store.read(handoffs.waiting)
    project = request.project
    if request.waiting:
        found = [one for one in waiting if project is None or one.project == project]
    else:
        found = await call.app.store.read(lambda db: handoffs.newest(db, project, request.limit))
    open_ones = {one.id for one in waiting}
    return Handoffs(handoffs=[await _line(call, one, one.id in open_ones) for one in found[: request.limit]])


async def _line(call: Call, handoff: Handoff, waiting: bool) -> HandoffLine:
    session = handoff.session
    whose = await call.app.store.get(lambda db: sessions.get(db, session)) if session else None
    after = await call.app.store.get(lambda db: sessions.successor_of(db, session)) if session else None
    return HandoffLine.showing(
        handoff,
        name=whose.name if whose else None,
        succession_policy=handoff.policy,
        successor=after.id if after else None,
        waiting=waiting,
    )
