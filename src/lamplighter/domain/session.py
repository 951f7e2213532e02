"""What a session is. Knows nothing of where it is stored or how it is run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from lamplighter.domain.ending import Ending, Exit, Intent
from lamplighter.domain.lease import Lease
from lamplighter.domain.limits import NO_LIMITS, Limits
from lamplighter.domain.states import State, check_transition


class Kind(StrEnum):
    """What a session is for; rules about ending differ by it."""

    TASK = "task"
    MAIN = "main"
    SUBAGENT = "subagent"
    CRON = "cron"
    SYSTEM = "system"


class Driver(StrEnum):
    """A way to run a session."""

    TERMINAL = "terminal"
    HEADLESS = "headless"
    ACP = "acp"
    TMUX = "tmux"
    LOGICAL = "logical"
    REGISTERED = "registered"


@dataclass(frozen=True, slots=True)
class Process:
    """A process that can be told from every other that ever ran on this boot: its pid and its start in clock ticks."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Session:
    """One agent or command at work, or one that was. `intent` is there from `ending` on, `ending` only when ended. `project` is
    what people call the project, `project_id` which one it is; `predecessor` is the session that it goes on from."""

    id: str
    name: str
    kind: Kind
    driver: Driver
    owner: str
    command: tuple[str, ...]
    cwd: str
    created_at: float
    boot: str
    state: State = State.STARTING
    agent: str = "generic"
    parent: str | None = None
    project: str | None = None
    project_id: str | None = None
    predecessor: str | None = None
    protected: bool = False
    keep_children: bool = False
    bound: bool = False
    key: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    main: Process | None = None
    shim: Process | None = None
    holder_lost: bool = False
    exit: Exit | None = None
    intent: Intent | None = None
    ending: Ending | None = None
    limits: Limits = NO_LIMITS
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def line(self) -> list[str]:
        """Ids and owners of its ancestors, nearest first, as they were when it started: whoever is in it may end it."""
        return list(self.facts.get("line", []))

    @property
    def inherits(self) -> list[str]:
        """Ids of the sessions that it went on from, nearest first, as far as whoever started it could pass on their rights."""
        return list(self.facts.get("inherits", []))

    @property
    def place(self) -> dict[str, Any]:
        """Where in tmux it is: socket, session, pane and more; empty when it is not in tmux."""
        return dict(self.facts.get("tmux", {}))

    @property
    def conversation(self) -> dict[str, Any]:
        """Which of its agent's own conversations it is in: `id`, and `path` of its transcript where that is known; or empty."""
        return dict(self.facts.get("conversation", {}))

    @property
    def conversations(self) -> list[dict[str, Any]]:
        """All that it was in, in their order, as `conversation`; the last is the one that it is in."""
        first = [self.conversation] if self.conversation else []
        return [dict(one) for one in self.facts.get("conversations", first)]

    @property
    def told(self) -> dict[str, Any]:
        """How its first prompt came to it: `by`, and its `size` in bytes; or empty."""
        return dict(self.facts.get("told", {}))

    @property
    def labels(self) -> list[str]:
        """Words that whoever started it put on it."""
        return list(self.facts.get("labels", []))

    @property
    def discarded(self) -> bool:
        """Its log goes as soon as it has ended."""
        return bool(self.facts.get("discard"))

    @property
    def alive(self) -> bool:
        return self.state is not State.ENDED

    @property
    def traced(self) -> bool:
        """Known by its processes alone: it was there before us, and no holder of ours stands behind it."""
        return self.shim is None and self.main is not None

    @property
    def piped(self) -> bool:
        """On pipes: it has no screen."""
        return self.driver in (Driver.HEADLESS, Driver.ACP)

    @property
    def talk(self) -> dict[str, Any]:
        """What is known of the talk with one that speaks ACP: `heeds_eof`; or empty."""
        return dict(self.facts.get("talk", {}))

    @property
    def logical(self) -> bool:
        """Without a process of ours: an agent that only tells of itself, alive by its lease."""
        return self.driver is Driver.LOGICAL

    @property
    def lease(self) -> Lease | None:
        """What keeps a logical session alive; None for every other."""
        document = self.facts.get("lease")
        return Lease.from_document(document) if document else None

    def started(self, now: float, shim: Process | None, main: Process | None) -> Session:
        return self._to(State.RUNNING, started_at=now, shim=shim, main=main)

    def to_end(self, intent: Intent) -> Session | None:
        """The intent is written; from here on the session only ever goes towards `ended`. None when it is on its way."""
        return None if self.state is State.ENDING else self._to(State.ENDING, intent=intent)

    def ended(self, ending: Ending) -> Session:
        # The clock may have been set back meanwhile: nothing ends before it has started.
        ending = replace(ending, at=max(ending.at, self.started_at or self.created_at))
        return self._to(State.ENDED, ended_at=ending.at, exit=ending.exit or self.exit, ending=ending)

    def _to(self, state: State, **changes: Any) -> Session:
        check_transition(self.state, state)
        return replace(self, state=state, **changes)
