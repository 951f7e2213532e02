"""Sessions of kiro-cli as its users know them, and their turns. A session here has no process: each message is a turn, and each
turn is one real session of ours, its run. Knows nothing of where they are kept.
"""

from __future__ import annotations

import os
from enum import StrEnum

from lamplighter.lazy_dataclass import dataclass

MOST_SESSIONS = 10
"""Open at once, for each caller."""
MOST_TASKS = 100
"""Kept for each caller; of those that are done the oldest are forgotten first."""
IDLE_SECONDS = 300.0
"""A session that was not spoken to for this long ends; so does a run that was quiet for this long."""
LONGEST_MESSAGE = 500_000


class TurnState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    STREAMING = "streaming"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


DONE = frozenset({TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED})


class TurnKind(StrEnum):
    """What a turn is for. A command is no part of the conversation."""

    CHAT = "chat"
    TASK = "task"
    COMMAND = "command"


@dataclass(frozen=True)
class KiroSession:
    """`turns` counts those since it was made or cleared: the first has nothing to resume. `why` says how it came to its end.
    `idle_seconds` without a word end it."""

    id: str
    owner: str
    agent: str | None
    working_directory: str
    created_at: float
    last_active: float
    turns: int = 0
    key: str | None = None
    ended_at: float | None = None
    why: str | None = None
    idle_seconds: float = IDLE_SECONDS


@dataclass(frozen=True)
class Turn:
    """`key` is also the key of its run. `stopped` is the wish to stop it, written before the act: cancelled, or ended with its
    session. `chunks`, when each came (`times`), `errors` and `exit_code` are kept once it is done."""

    id: str
    session: str
    owner: str
    kind: TurnKind
    message: str
    resumes: bool
    key: str
    created_at: float
    state: TurnState = TurnState.PENDING
    stopped: str | None = None
    ended_at: float | None = None
    chunks: tuple[str, ...] = ()
    errors: str = ""
    failure: str = ""
    exit_code: int | None = None
    times: tuple[float, ...] = ()

    @property
    def done(self) -> bool:
        return self.state in DONE

    @property
    def content(self) -> str:
        return "".join(self.chunks)


@dataclass(frozen=True)
class Remark:
    """One entry of a conversation's history; `role` is user or assistant."""

    role: str
    content: str
    at: float


def new_session_id() -> str:
    return f"session-{os.urandom(6).hex()}"


def new_task_id() -> str:
    return f"task-{os.urandom(6).hex()}"
