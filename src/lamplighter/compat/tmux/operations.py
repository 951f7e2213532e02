"""Typing into, reading and ending sessions of the user's tmux by the names that tmux has for them, also those made by hand."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.compat.tmux.names import NamedTmuxSession, TmuxNames, does_not_exist, says, silent
from lamplighter.compat.tmux.windows import capture, find_windows
from lamplighter.domain.ending import StopSteps
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Session
from lamplighter.engine.backends.tmux.server import TmuxError, TmuxServer, TmuxSilentError
from lamplighter.errors import Code, ConflictError, LampError, MissingError, UnavailableError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Approval
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import permitted, permitted_stranger, readable
from lamplighter.store import sessions

_HANGUP_SECONDS = 1.0


class ListTmuxWindows(Request):
    socket: str = Field(min_length=1, max_length=4096, description="the tmux server's socket")


class TmuxWindow(Result):
    session_id: str
    session: str
    created: int
    activity: int = Field(description="the last input or output; Unix seconds, as when it was created")
    attached: int = Field(description="clients that are attached to the session")
    index: int
    active: bool
    panes: int
    name: str


class TmuxWindows(Result):
    windows: list[TmuxWindow]


class OfTmux(Request):
    socket: str = Field(min_length=1, max_length=4096, description="the tmux server's socket")
    name: str = Field(min_length=1, max_length=200, description="what tmux calls the session, exactly")
    approval: Approval = None


class TypeInTmux(OfTmux):
    text: str = Field(description="what to type, sent literally; with keys: names of keys, apart by spaces")
    keys: bool = Field(default=False, description="the text names keys")
    enter: bool = Field(default=True, description="press Enter after it")


class Typed(Result):
    id: str | None = Field(description="the session of ours that it is")
    size: int = Field(description="bytes that were typed")


class ReadTmux(OfTmux):
    lines: int = Field(default=100, ge=1, le=10_000, description="at most this many, counted from the last with text")


class TmuxText(Result):
    text: str


class KillTmux(OfTmux):
    pass


class KilledTmux(Result):
    id: str | None = Field(description="the session of ours that it is by now")
    state: str = Field(description="ended; or ending, when there are survivors or it is the caller's own")
    survivors: list[dict[str, Any]]


@operation(command=None, group="sessions")
async def list_tmux_windows(_: Call, request: ListTmuxWindows) -> TmuxWindows:
    """Every window of every session of a tmux server, in the order of sessions and windows; none when no server runs."""
    try:
        found = await find_windows(TmuxServer(request.socket))
    except TmuxSilentError:
        raise silent(request.socket) from None
    except TmuxError as error:
        raise says(error) from None
    return TmuxWindows(windows=[TmuxWindow.showing(window) for window in found])


@operation(command=None, group="sessions", changes=True, act=Act.SEND)
async def type_in_tmux(call: Call, request: TypeInTmux) -> Typed:
    """Type into a session of a tmux server: its own pane when it is one of ours, else the active one.

    One of ours follows its own rights; one that was made by hand is the operator's.
    """
    try:
        named = await TmuxNames(call.app).find(request.socket, request.name)
    except MissingError:
        if call.repeated:
            raise _perhaps_typed(request.name) from None
        raise
    target = await _permitted(call, Act.SEND, named)
    try:
        text = f"{request.text} Enter" if request.keys and request.enter else request.text
        sent = await call.app.session_io.send(
            target, text, keys=request.keys, enter=request.enter, by=call.caller, key=call.key
        )
    except LampError as error:
        if error.code in (Code.ENDED, Code.HOLDER_UNREACHABLE):
            await TmuxNames(call.app).find(request.socket, request.name)  # which says so, when it is gone by now
        raise
    return Typed(id=named.session.id if named.session else None, size=sent["size"])


@operation(command=None, group="sessions")
async def read_tmux(call: Call, request: ReadTmux) -> TmuxText:
    """The last lines that a session of a tmux server has shown: its own pane when it is one of ours, else the active one."""
    target, whose = await TmuxNames(call.app).pane(request.socket, request.name)
    await readable(call, whose)
    try:
        text = await capture(TmuxServer(request.socket), request.name, target, request.lines)
    except TmuxSilentError:
        raise silent(request.socket) from None
    if text is None:
        raise does_not_exist(request.name)
    return TmuxText(text=text)


@operation(command=None, group="sessions", changes=True, act=Act.KILL)
async def kill_tmux(call: Call, request: KillTmux) -> KilledTmux:
    """Stop a session of a tmux server, active or not: HUP to all of it, then TERM, then KILL, until nothing of it is left.

    One of ours follows its own rights, and its end is proven. One that was made by hand is the operator's; it is adopted first,
    so that all of it that can be traced is ended too, and its end is recorded.
    """
    session = await _begun(call) if call.repeated else None
    if session is None:
        named = await TmuxNames(call.app).find(request.socket, request.name)
        session = await _permitted(call, Act.KILL, named)
        if named.session is None:
            named = await _again(call, request, named)
            if named.dead:
                await TmuxNames(call.app).close(named)
                await call.app.registry.note(session.id, call.caller, "kill", name=request.name)
                return KilledTmux(id=None, state="ended", survivors=[])
            session = await call.app.adoption.take(named.made, call.caller, call.key)
    ended = await call.app.ender.end(
        session,
        call.caller,
        "",
        StopSteps(ask=False, grace=call.app.settings.grace, hangup=_HANGUP_SECONDS),
        key=call.key,
        turn=call.gone,
    )
    return KilledTmux(id=session.id, state=ended["state"], survivors=ended["certificate"]["survivors"])


async def _permitted(call: Call, act: Act, named: NamedTmuxSession) -> Session:
    """What is to be acted on, when the caller may."""
    if named.session is not None:
        return await permitted(call, act, named.session.id)
    await permitted_stranger(call, act, named.stranger)
    return named.stranger


async def _again(call: Call, request: KillTmux, before: NamedTmuxSession) -> NamedTmuxSession:
    """As it is now: asking who may took time. What has another owner by now, or is another of this name, was not asked for."""
    named = await TmuxNames(call.app).find(request.socket, request.name)
    if named.session is not None or named.stranger.id != before.stranger.id:
        raise ConflictError(
            Code.ADOPTED, f'session "{request.name}" has become another one just now', "look at it, and call again"
        )
    return named


async def _begun(call: Call) -> Session | None:
    """What this very call had begun to end, or had adopted for it, when the daemon was lost."""
    found = await call.app.store.get(lambda db: sessions.ended_by_key(db, call.key) or sessions.by_key(db, call.key))
    return await call.app.registry.now(found) if found else None


def _perhaps_typed(name: str) -> UnavailableError:
    return UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f'whether this was typed into session "{name}" is not known: it was interrupted just then, and the session is gone now',
        "see whether that is what it was for, before starting it again",
    )
