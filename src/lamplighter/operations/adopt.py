"""Taking under management what was made without us."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.session import Kind
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed
from lamplighter.operations.views.common import StateWord


class AdoptSession(Request):
    target: str = Field(
        description="tmux:NAME, as ls shows it; the pid of one of your processes; or the id of a leak from scan"
    )
    start: int | None = Field(
        default=None,
        ge=0,
        description="with a pid: its start time from scan --json; refused when the pid now belongs to another process",
    )
    name: str | None = Field(default=None, description="name (default: that of the tmux session or of the program)")
    kind: Kind | None = Field(
        default=None, description="what it is for (default: task, or main for an agent at a terminal)"
    )
    environment: dict[str, str] | None = Field(
        default=None,
        description="TMUX and TMUX_TMPDIR of the caller, by which a tmux there would find its server",
        json_schema_extra=HIDDEN,
    )


class Adopted(Result):
    id: str
    name: str
    state: StateWord
    pid: int = Field(description="the process itself, or the first pane's")
    command: list[str]
    guarantee: str = Field(description="what a kill of it proves: best_effort")


@operation(command="adopt", group="sessions", positional=("target",), changes=True, act=Act.ADOPT)
async def adopt_session(call: Call, request: AdoptSession) -> Adopted:
    """Adopt a tmux session, a process or a leak that was started outside Lamplighter. Adopting does not touch it.

    From then on it is listed, gets a verdict and can be ended like other sessions. Its guarantee is best_effort: an end kills
    every process that can be traced to it, and touches nothing else on its tmux server or in its terminal. A pid can be an
    agent, whose launcher is included, or any process of yours that is not a system service; all that it starts belongs to it.
    When it exits by itself, the processes that it left go on and are shown as leftovers. It has no log; to use it, run tmux
    attach or go to its terminal. An agent that speaks to Lamplighter becomes a session by itself. Operator only.
    """
    await allowed(call, Act.ADOPT)
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
    return Adopted.showing(session, pid=session.main.pid, guarantee="best_effort")
