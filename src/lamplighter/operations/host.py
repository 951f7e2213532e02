"""The machine and the daemon: status, doctor, prune, down."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.operations.call import Call
from lamplighter.operations.operation import AS_SET, Nothing, Request, Result, operation
from lamplighter.operations.permission import allowed
from lamplighter.operations.views.common import HandMadeView, SessionView
from lamplighter.store import handoffs


class Status(Result):
    pid: int = Field(description="the daemon's process")
    version: str
    since: str
    home: str = Field(description="where state lives")
    keeper: int | None = Field(description="the keeper's process")
    alive: int = Field(description="sessions that run")
    ending: int = Field(description="sessions whose end has begun")
    ended: int = Field(description="sessions that are kept in the store")
    guarantee: str = Field(description="what a kill proves here")
    http: str | None = Field(description="where the HTTP door is open")
    http_problem: str = Field(default="", description="why it is not, when it should be")
    caller: str = Field(description="who you are to the daemon")
    approvals: int = Field(description="requests of agents that wait for the operator")


@operation(command="status", group="machine")
async def get_status(call: Call, _: Nothing) -> Status:
    """Show the daemon: its process, version, state folder, the guarantee of a kill, and who you are to it."""
    found = await call.app.host.status(call.caller)
    return Status.model_validate({**found, "approvals": await call.app.approvals.waiting()})


class Check(Result):
    name: str
    state: Literal["ok", "note", "bad"]
    found: str
    mend: str = Field(default="", description="what to do about it")


class Checkup(Result):
    guarantee: str = Field(description="what a kill proves here: kernel, tree or best_effort")
    checks: list[Check]


@operation(command="doctor", group="machine")
async def check_host(call: Call, _: Nothing) -> Checkup:
    """Check this machine: what it offers, the guarantee of a kill, what is broken and how to fix it."""
    return Checkup.model_validate(await call.app.host.checkup())


class PruneLogs(Request):
    apply: bool = Field(default=False, description="delete them; without it, only list")


class Pruned(Result):
    sessions: list[dict[str, Any]] = Field(description="each with id, name, ended_at, bytes and why")
    bytes: int
    applied: bool
    kept_days: int
    kept_bytes: int


@operation(command="prune", group="machine", changes=True, act=Act.PRUNE)
async def prune_logs(call: Call, request: PruneLogs) -> Pruned:
    """List logs of ended sessions that exceed the settings keep_days and keep_bytes. With --apply, delete them.

    The sessions and their endings stay in the store. The daemon prunes by itself once a day.
    """
    if request.apply:
        await allowed(call, Act.PRUNE)
    return Pruned.model_validate(await call.app.archive.prune(apply=request.apply, by=call.caller))


class Down(Request):
    all: bool = Field(default=False, description="end every session first")
    grace: str | None = Field(default=None, description=f"with --all: time between TERM and KILL ({AS_SET})")


class WentDown(Result):
    ended: list[dict[str, Any]] = Field(description="with all: one row a session, with its certificate or its error")
    alive: int = Field(description="sessions that go on without the daemon")


@operation(command="down", group="machine", changes=True, act=Act.DOWN)
async def stop_daemon(call: Call, request: Down) -> WentDown:
    """Stop the daemon. Sessions go on, and the next command starts it again. With --all, every session is ended first."""
    await allowed(call, Act.DOWN_ALL if request.all else Act.DOWN)
    grace = call.app.settings.grace_for(request.grace)
    went = WentDown.model_validate(await call.app.host.down(call.caller, everything=request.all, grace=grace))
    call.afterwards(call.app.host.going.set)
    return went


class Overview(Result):
    sessions: list[SessionView]
    by_hand: list[HandMadeView] = Field(default_factory=list, description="tmux sessions that no session stands for")
    caller: str
    waiting: list[str] = Field(default_factory=list, description="sessions that somebody must go on from")


@operation(command=None, group="sessions")
async def get_overview(call: Call, _: Nothing) -> Overview:
    """What runs, what waits for you, what to do next."""
    listed = await call.app.session_views.list(ended=False, limit=10_000)
    waiting = await call.app.store.get(handoffs.waiting)
    return Overview.model_construct(
        sessions=listed.sessions,
        by_hand=listed.by_hand,
        caller=call.caller.name,
        waiting=[one.session for one in waiting if one.session],
    )
