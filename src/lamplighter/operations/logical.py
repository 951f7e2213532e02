"""Sessions of agents that only tell of themselves: no process of theirs is held here, and a lease keeps them alive."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.duration import parse_duration
from lamplighter.domain.permission import Act
from lamplighter.domain.redaction import redact
from lamplighter.domain.session import Kind, Session
from lamplighter.errors import Code, InputError
from lamplighter.lifecycle.logical import Announcement
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.spawn import own_program


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


class LogicalStarted(Result):
    id: str
    name: str
    state: str
    lease: float = Field(description="seconds that it counts as alive after each word")
    predecessor: str | None


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def start_logical(call: Call, request: StartLogical) -> LogicalStarted:
    """Begin a session for an agent that only tells of itself. It is alive by a lease, which every call about it renews."""
    await call.app.allowed(call.caller, Act.START)
    session = await call.app.logical.start(
        Announcement(
            name=request.name,
            kind=request.kind,
            agent=request.agent or own_program(call.app, call.caller) or "generic",
            cwd=request.cwd,
            project=request.project,
            lease=_lease(request.lease),
            told={name: redact(text).text for name, text in request.told.items()},
            shared=request.shared,
        ),
        call.caller,
        call.key,
        repeated=call.repeated,
    )
    return started(session)


def started(session: Session) -> LogicalStarted:
    assert session.lease is not None
    return LogicalStarted(
        id=session.id,
        name=session.name,
        state=session.state.value,
        lease=session.lease.seconds,
        predecessor=session.predecessor,
    )


def _lease(text: str | None) -> float | None:
    if text is None:
        return None
    seconds = parse_duration(text, "lease")
    if seconds <= 0:
        raise InputError(Code.BAD_INPUT, "a lease of nothing is over at once", "write it as 30m, 8h or 2d")
    return seconds
