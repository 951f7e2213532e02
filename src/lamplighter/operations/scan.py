"""Looking at the machine: agents that nobody manages, and what agents that are gone left behind."""

from __future__ import annotations

import time

from pydantic import Field

from lamplighter.domain.leak import Certainty
from lamplighter.engine.backends.tmux.server import Pane
from lamplighter.engine.scan.scanner import Survey, Unmanaged
from lamplighter.errors import Code, Hint, MissingError, Use
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views.common import Moment


class LeakedProcessView(Result):
    pid: int
    start: int = Field(
        description="its start time in clock ticks since boot: with the pid it names the process for good"
    )
    kind: str = Field(
        description="mcp server, server, tool shell, background job, agent daemon, agent, or child of one of these"
    )
    command: str
    since: Moment = Field(description="when it was started")
    memory: int = Field(description="bytes it holds, with its part of what it shares")
    why: list[str] = Field(description="why it is believed to be left behind; nothing for a child")


class LeakedFileView(Result):
    path: str
    what: str
    pid: int = Field(description="the process that left it, and is gone")


class LeakView(Result):
    """What one dead session left behind."""

    id: str = Field(description="what cleanup takes, with leaks")
    name: str
    agent: str = Field(description="which agent it came from; empty where that cannot be told")
    session: str | None = Field(description="what that agent called its session, where that can be told")
    certainty: str = Field(description="certain, or likely")
    why: list[str]
    since: Moment | None = Field(description="when the oldest of its processes was started")
    memory: int
    processes: list[LeakedProcessView]
    files: list[LeakedFileView]


class UnmanagedView(Result):
    """A living agent in no session of Lamplighter."""

    agent: str
    pid: int
    start: int
    command: str
    cwd: str
    since: Moment
    processes: int = Field(description="it and all that it started")
    memory: int = Field(description="resident bytes of all of them")
    terminal: bool = Field(description="whether it is at a terminal")
    tmux: str | None = Field(description="the tmux session made by hand that it is in: adopt takes this")


class ScanSums(Result):
    processes: int = Field(description="that were left behind, certain and likely")
    sessions: int = Field(description="dead sessions that they are of; at least one where that cannot be told")
    memory: int
    certain: int = Field(description="processes that are certain")
    likely: int = Field(description="processes that are likely")
    files: int
    agents: int = Field(description="agents alive that nobody manages")


class AskedView(Result):
    """The process that was asked about."""

    pid: int
    command: str
    leak: str | None = Field(description="the id of the leak that it is of; null when it is not listed as one")
    certainty: str | None = Field(description="certain, or likely; null when it is not listed")
    why: list[str] = Field(description="why it is listed, or why it is not")


class ScanRequest(Request):
    pid: int | None = Field(default=None, ge=1, description="pid of a process: also say why it is listed or not")


class Scan(Result):
    asked: AskedView | None = Field(description="the process that was asked about; null when none was")
    leaks: list[LeakView] = Field(description="certain ones first, then by memory")
    agents: list[UnmanagedView]
    sums: ScanSums
    seen: int = Field(description="processes on the machine")
    seconds: float = Field(description="how long the look took")


@operation(command="scan", group="sessions", positional=("pid",))
async def scan_host(call: Call, request: ScanRequest) -> Scan:
    """Find what dead agents left behind on this machine, and running agents outside Lamplighter.

    scan looks at the processes of your user. It lists MCP servers, tool shells, background jobs and agent daemons whose agent
    is gone, agents that finished and did not exit, and files and sockets of dead processes. Leaks are listed by dead session,
    with age, memory and the reasons. Certain: the agent is proven dead, whatever started the process is gone, and nobody can
    write to the process or read from it. Likely: the process may be meant to go on. scan changes nothing, and finds agents
    that were never started with Lamplighter too. To end leaks: cleanup --leaks. To manage a living agent: adopt.
    """
    began = time.monotonic()
    found = await call.app.leaks.look(request.pid)
    if request.pid is not None and found.asked is None:
        raise MissingError(
            Code.NOT_FOUND,
            f"there is no process {request.pid}",
            Hint(Use("scan"), " without a pid lists what was left behind"),
        )
    panes = await _panes(call) if found.agents else {}
    return Scan(
        asked=AskedView.showing(found.asked) if found.asked else None,
        leaks=[LeakView.showing(leak) for leak in found.leaks],
        agents=[_unmanaged(agent, panes) for agent in found.agents],
        sums=_sums(found),
        seen=found.seen,
        seconds=round(time.monotonic() - began, 3),
    )


async def _panes(call: Call) -> dict[int, str]:
    """The tmux session made by hand that a pane's process is of."""
    made = await call.app.multiplexers.made_by_hand()
    panes: list[tuple[Pane, str]] = [(pane, one.id) for one in made for pane in one.panes if not pane.dead]
    return {pane.pid: name for pane, name in panes}


def _sums(found: Survey) -> ScanSums:
    processes = [(leak.certainty, each) for leak in found.leaks for each in leak.processes]
    certain = sum(certainty is Certainty.CERTAIN for certainty, _ in processes)
    return ScanSums(
        processes=len(processes),
        sessions=len({(leak.agent, leak.session) for leak in found.leaks if leak.processes}),
        memory=sum(each.memory for _, each in processes),
        certain=certain,
        likely=len(processes) - certain,
        files=sum(len(leak.files) for leak in found.leaks),
        agents=len(found.agents),
    )


def _unmanaged(agent: Unmanaged, panes: dict[int, str]) -> UnmanagedView:
    return UnmanagedView.showing(agent, tmux=next((panes[pid] for pid in agent.chain if pid in panes), None))
