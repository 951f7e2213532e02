"""Taking under management what was made without us."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.session import Kind
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation


class AdoptSession(Request):
    target: str = Field(description="tmux:NAME, as ls shows it under what was made by hand")
    name: str | None = Field(default=None, description="what to call it; by default what tmux calls it")
    kind: Kind = Field(default=Kind.TASK, description="what it is for")


class Adopted(Result):
    id: str
    name: str
    state: str
    pid: int = Field(description="the first pane's process")
    command: list[str]
    guarantee: str = Field(description="what a kill of it proves: best_effort")


@operation(command="adopt", group="sessions", positional=("target",), changes=True, act=Act.ADOPT)
async def adopt_session(call: Call, request: AdoptSession) -> Adopted:
    """Take a tmux session that was made by hand under management, with all its windows and panes. It is not touched.

    From now on it is listed, judged and ended as others are; an end is best_effort: everything of it that can be traced dies, and
    nothing else on its tmux server is touched. When it exits by itself, what it left behind goes on and is shown as leftovers.
    There is no log of it, and people are at it with tmux attach. Only the operator may.
    """
    await call.app.allowed(call.caller, Act.ADOPT)
    session = await call.app.adoption.adopt(
        request.target, request.name, request.kind, call.caller, call.key, repeated=call.repeated
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
