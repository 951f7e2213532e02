"""Taking under management what was made without us."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.session import Kind
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation


class AdoptSession(Request):
    target: str = Field(
        description="tmux:NAME, as ls shows it under what was made by hand; the pid of a process of yours; or a leak, by the id "
        "that scan shows"
    )
    start: int | None = Field(
        default=None,
        ge=0,
        description="with a pid: its start time, as scan --json shows it; refused when the pid is another process's by now",
    )
    name: str | None = Field(
        default=None, description="what to call it; by default what tmux, or its program, is called"
    )
    kind: Kind | None = Field(
        default=None, description="what it is for; by default task, or main for an agent at a terminal"
    )
    environment: dict[str, str] | None = Field(
        default=None,
        description="TMUX and TMUX_TMPDIR of the caller, by which a tmux there would find its server",
        json_schema_extra={"hidden": True},
    )


class Adopted(Result):
    id: str
    name: str
    state: str
    pid: int = Field(description="the process itself, or the first pane's")
    command: list[str]
    guarantee: str = Field(description="what a kill of it proves: best_effort")


@operation(command="adopt", group="sessions", positional=("target",), changes=True, act=Act.ADOPT)
async def adopt_session(call: Call, request: AdoptSession) -> Adopted:
    """Take under management what was made without Lamplighter: a tmux session, a process, a leak. It is not touched.

    From now on it is listed, judged and ended as others are; an end is best_effort: everything of it that can be traced dies, and
    nothing else on its tmux server or in its terminal is touched. By pid: an agent, its launcher with it, or any process of your
    own that is not a service of the system; all that it starts belongs to it. When it exits by itself, what it left behind goes
    on and is shown as leftovers. There is no log of it, and people are at it with tmux attach or at its own terminal. An agent
    that speaks to Lamplighter becomes a session by itself. Only the operator may.
    """
    await call.app.allowed(call.caller, Act.ADOPT)
    session = await call.app.adoption.adopt(
        request.target,
        request.name,
        request.kind,
        call.caller,
        call.key,
        repeated=call.repeated,
        start=request.start,
        environment=request.environment,
    )
    assert session.main is not None
    return Adopted(
        id=session.id,
        name=session.name,
        state=session.state.value,
        pid=session.main.pid,
        command=list(session.command),
        guarantee="best_effort",
    )
