"""What a session is. Knows nothing of where it is stored or how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from lamplighter.domain import states
from lamplighter.domain.ending import Ending, Intent
from lamplighter.domain.facts import Conversation, Facts, TmuxPlace
from lamplighter.domain.lease import Lease
from lamplighter.domain.limits import NO_LIMITS, Limits
from lamplighter.domain.states import BeingEnded, HasEnded, Running, Starting, State
from lamplighter.lazy_dataclass import dataclass

OURS = "acp"
"""The form of transcripts that are written down here."""


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


@dataclass(frozen=True)
class Process:
    """A process that can be told from every other that ever ran on this boot: its pid and its start in clock ticks."""

    pid: int
    start: int


@dataclass(frozen=True)
class Session:
    """One agent or command at work, or one that was. `project` is what people call the project, `project_id` which one it is;
    `predecessor` is the session that it goes on from."""

    id: str
    name: str
    kind: Kind
    driver: Driver
    owner: str
    command: tuple[str, ...]
    cwd: str
    created_at: float
    boot: str
    state: State = field(default_factory=Starting)
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
    main: Process | None = None
    shim: Process | None = None
    holder_lost: bool = False
    limits: Limits = NO_LIMITS
    facts: Facts = field(default_factory=Facts)

    @property
    def line(self) -> list[str]:
        """Ids and owners of its ancestors, nearest first, as they were when it started: whoever is in it may end it."""
        return list(self.facts.line)

    @property
    def inherits(self) -> list[str]:
        """Ids of the sessions that it went on from, nearest first, as far as whoever started it could pass on their rights."""
        return list(self.facts.inherits)

    @property
    def place(self) -> TmuxPlace:
        """Where in tmux it is; empty when it is not in tmux."""
        return self.facts.tmux

    @property
    def conversation(self) -> Conversation:
        """Which of its agent's own conversations it is in; or empty."""
        return self.facts.conversation

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """All that it was in, in their order, as `conversation`; the last is the one that it is in."""
        first = (self.conversation,) if self.conversation else ()
        return self.facts.conversations or first

    @property
    def told(self) -> Mapping[str, Any]:
        """How its first prompt came to it: `by`, and its `size` in bytes; or empty."""
        return self.facts.told

    @property
    def labels(self) -> list[str]:
        """Words that whoever started it put on it."""
        return list(self.facts.labels)

    @property
    def discarded(self) -> bool:
        """Its log goes as soon as it has ended."""
        return self.facts.discard

    @property
    def alive(self) -> bool:
        return not isinstance(self.state, HasEnded)

    @property
    def traced(self) -> bool:
        """Known by its processes alone: it was there before us, and no holder of ours stands behind it."""
        return self.shim is None and self.main is not None

    @property
    def piped(self) -> bool:
        """On pipes: it has no terminal."""
        return self.driver in (Driver.HEADLESS, Driver.ACP)

    @property
    def has_screen(self) -> bool:
        """It is on a terminal whose screen can be read here."""
        return self.driver in (Driver.TERMINAL, Driver.TMUX)

    @property
    def has_terminal(self) -> bool:
        """It is on a terminal, whoever's that is."""
        return bool(self.facts.terminal) if self.in_foreign_terminal else not self.piped

    @property
    def in_foreign_terminal(self) -> bool:
        """It ran before us where nobody else can type or read: in somebody's terminal, or in none."""
        return self.driver is Driver.REGISTERED

    @property
    def transcript_form(self) -> str:
        """Whose form its transcript has: its agent's own; over ACP ours, which is the same for every agent."""
        return OURS if self.driver is Driver.ACP else self.agent

    @property
    def logical(self) -> bool:
        """Without a process of ours: an agent that only tells of itself, alive by its lease."""
        return self.driver is Driver.LOGICAL

    @property
    def lease(self) -> Lease | None:
        """What keeps a logical session alive; None for every other."""
        return self.facts.lease

    @property
    def ended_at(self) -> float | None:
        """None while it lives."""
        return self.state.ending.at if isinstance(self.state, HasEnded) else None

    def started(self, now: float, shim: Process | None, main: Process | None) -> Session:
        assert isinstance(self.state, Starting), f"a session that is {self.state.word} cannot start"
        return replace(self, state=states.started(self.state), started_at=now, shim=shim, main=main)

    def to_end(self, intent: Intent) -> Session | None:
        """The intent is written. None when it is on its way."""
        if not isinstance(self.state, Starting | Running):
            return None
        return replace(self, state=states.to_end(self.state, intent))

    def asked(self, at: float, on: float) -> Session | None:
        """It is about to be asked to leave, at this time and moment. None when it was before, or nobody wants its end."""
        if not isinstance(self.state, BeingEnded) or self.state.intent.asked_at is not None:
            return None
        return replace(self, state=BeingEnded(replace(self.state.intent, asked_at=at, asked_on=on)))

    def hurried(self, grace: float) -> Session | None:
        """No more asking, and the shorter grace counts. None when that is so, or nobody wants its end."""
        hurried = self.state.intent.hurried(grace) if isinstance(self.state, BeingEnded) else None
        return replace(self, state=BeingEnded(hurried)) if hurried is not None else None

    def ended(self, ending: Ending) -> Session:
        assert not isinstance(self.state, HasEnded), "a session ends once"
        # The clock may have been set back meanwhile: nothing ends before it has started.
        ending = replace(ending, at=max(ending.at, self.started_at or self.created_at))
        return replace(self, state=states.ended(self.state, ending))
