"""The shapes in which sessions, endings and events are shown. Times are UTC, ISO 8601."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.states import State
from lamplighter.domain.timestamp import timestamp
from lamplighter.operations.fields import Redacted, Withheld
from lamplighter.operations.operation import Result


def moment(seconds: float | None) -> str | None:
    """Unix seconds as UTC, ISO 8601, to the millisecond."""
    return None if seconds is None else timestamp(seconds, "milliseconds")


def _told(at: float | str | None) -> str | None:
    """A result that was kept under its key has its times as text."""
    return at if isinstance(at, str) else moment(at)


Moment = Annotated[str, BeforeValidator(_told)]
"""A field of a result that is made of Unix seconds."""


def _word(state: State | str) -> str:
    return state if isinstance(state, str) else state.word


StateWord = Annotated[str, BeforeValidator(_word)]
"""A field of a result that is made of a session's state."""


def without_output(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary of an end for who may not read what the session printed."""
    return {**summary, "last_lines": []} if summary else summary


class ProcessView(Result):
    pid: int
    parent: int
    command: str
    state: str = Field(description="R running, S sleeping, D in the kernel, T stopped, Z dead and not reaped")
    memory: int = Field(description="resident bytes")
    cpu: float = Field(description="seconds used so far")


class CertificateView(Result):
    guarantee: str = Field(description="kernel: cgroup empty and no child left; tree: no child left; best_effort")
    seconds: float
    processes: list[dict[str, Any]] = Field(
        description="each with pid, started, start_ticks, command, signal and seconds"
    )
    survivors: list[dict[str, Any]] = Field(description="what is still alive, and why")
    spared: list[dict[str, Any]] = Field(
        default_factory=list, description="what was left alone because it serves others too, and why"
    )


class EndingView(Result):
    at: Moment
    by: str
    reason: str
    how: str = Field(description="asked, terminated, killed, exited or lost")
    exit: dict[str, Any] | None
    certificate: CertificateView
    summary: dict[str, Any] = Field(description="how long, how, exit, CPU, memory, git, what was stored, last lines")


class InferredView(Result):
    """What had been inferred of a session for which somebody has spoken since: the evidence of that hand-off."""

    id: str
    at: Moment
    summary: str
    basis: list[str] = Field(description="what it rests on")
    stored: dict[str, int] = Field(description="records by type")
    records: list[str] = Field(description="ids of the records")


class HandoffView(Result):
    """A hand-off as it was stored."""

    id: str
    session: str | None
    project: str | None
    at: Moment
    by: str
    source: str = Field(description="end_session, agent, operator; inferred when nobody wrote one")
    succession_policy: str | None
    reason: str
    epitaph: str | None
    transcript_path: str | None
    summary: str
    basis: list[str] = Field(description="what an inferred one rests on")
    stored_count: int
    stored: dict[str, int] = Field(description="records by type")
    records: list[str] = Field(description="ids of the records")
    resolved: list[str] = Field(description="loops that are done")
    dropped: list[str] = Field(description="loops that were given up")
    carried: list[str] = Field(description="loops that stay open, at most 100 of them")
    carried_count: int = Field(description="how many stay open")
    redacted: Redacted
    withheld: Withheld
    evidence: list[InferredView] = Field(
        default_factory=list, description="what had been inferred of the session before somebody said it"
    )

    @staticmethod
    def of(handoff: Handoff) -> HandoffView:
        return HandoffView.showing(handoff, succession_policy=handoff.policy, stored_count=sum(handoff.stored.values()))


class LimitsView(Result):
    """What it may not pass; the patrol warns, asks and then ends it."""

    idle: float | None = Field(description="seconds quiet")
    age: float | None = Field(description="seconds alive")
    memory: int | None = Field(description="bytes of the whole tree")


class SessionView(Result):
    """One session as listings show it."""

    id: str
    name: str
    kind: str
    agent: str
    driver: str
    state: str = Field(description="starting, running, ending or ended")
    verdict: str = Field(description="working, waiting, idle, finished, stuck, orphaned, leftovers, unknown, ended")
    evidence: list[str] = Field(description="what the verdict rests on")
    owner: str
    parent: str | None
    project: str | None
    command: list[str]
    cwd: str
    protected: bool
    keep_children: bool
    labels: list[str]
    pid: int | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    last_output_at: str | None
    last_input_at: str | None
    attached: int = Field(description="people attached now")
    processes: int = Field(description="of the whole tree")
    memory: int = Field(description="resident bytes of the whole tree")
    cpu: float = Field(description="CPU seconds of the whole tree")
    quiet_for: float = Field(description="seconds without output, input or work, the machine's sleep not counted")
    output: int = Field(description="bytes of output so far; also the newest cursor")
    tokens: dict[str, int] | None = Field(
        default=None, description="by its agent's transcripts: input, output, cached; None where none are known"
    )
    exit: dict[str, Any] | None
    how: str | None = Field(description="how it ended")
    reason: str | None = Field(default=None, description="why it was ended, where somebody said so")


class HandMadeView(Result):
    """A tmux session that was made by hand."""

    id: str = Field(description="what adopt takes: tmux:NAME")
    windows: int
    panes: int
    attached: int = Field(description="people attached now")
    processes: int = Field(description="of all its panes, with all that descends from them")
    memory: int = Field(description="resident bytes of all of them")
    commands: list[str] = Field(description="what its panes show, each once")
    created_at: str
    cwd: str


class Sessions(Result):
    sessions: list[SessionView]
    left_out: int = Field(description="how many more there are")
    by_hand: list[HandMadeView] = Field(default_factory=list, description="tmux sessions that no session stands for")
    notice: str = Field(default="", description="what is wrong with the store, for a week after it was lost")


class SessionDetail(SessionView):
    """One session in full."""

    guarantee: str = Field(description="what a kill would prove here")
    holder_lost: bool = Field(description="its first holder was lost, so an end of it is best_effort")
    limits: LimitsView
    warnings: list[str] = Field(description="limits that it has passed, and for which it is about to be ended")
    tree: list[ProcessView]
    children: list[str] = Field(description="ids of the sessions it started")
    project_id: str | None = Field(description="which project it is in: the repository, or the folder")
    predecessor: str | None = Field(description="the session that it went on from")
    successor: str | None = Field(description="the session that went on from it")
    handoff: HandoffView | None = Field(description="what it left to the next; inferred when nobody wrote one")
    intent: dict[str, Any] | None
    survivors: list[dict[str, Any]] = Field(
        default_factory=list, description="while it is ending: what KILL did not end so far, and why"
    )
    ending: EndingView | None
    folder: str = Field(description="where its log is")
    tmux: dict[str, Any] | None = Field(default=None, description="where it is in tmux: socket, name, session, pane")
    conversation: dict[str, Any] | None = Field(
        default=None, description="its agent's own conversation that it is in: id, path of its transcript"
    )


class EventView(Result):
    n: int | None = Field(
        description="its number; None of a change of verdict, which is told to who follows and not kept"
    )
    at: Moment
    session: str | None
    name: str | None
    by: str
    action: str
    detail: dict[str, Any]
