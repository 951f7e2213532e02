"""Terminals on the page: who may watch one, and who may type into it. On no command line."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.operations.call import Call
from lamplighter.operations.fields import SessionWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import permitted, readable


class WatchedTerminal(Result):
    id: str
    name: str


class WatchTerminal(Request):
    session: SessionWord


@operation(command=None, group="sessions")
async def watch_terminal(call: Call, request: WatchTerminal) -> WatchedTerminal:
    """The session whose terminal the caller may watch."""
    session = await readable(call, await call.app.registry.find(request.session))
    return WatchedTerminal(id=session.id, name=session.name)


class TakeKeyboard(WatchTerminal):
    rows: int = Field(ge=1, le=1000)
    cols: int = Field(ge=1, le=1000)


@operation(command=None, group="sessions", act=Act.SEND)
async def take_keyboard(call: Call, request: TakeKeyboard) -> WatchedTerminal:
    """Be a person at a session, who types and hears nothing: what it prints comes to those who watch. Passes a descriptor."""
    session = await permitted(call, Act.SEND, request.session)
    _, descriptor = await call.app.session_io.attach(
        session, request.rows, request.cols, read_only=False, bound=False, by=call.caller, deaf=True
    )
    call.pass_descriptor(descriptor)
    return WatchedTerminal(id=session.id, name=session.name)
