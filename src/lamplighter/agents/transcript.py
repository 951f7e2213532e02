"""What an agent's own transcript says of a conversation; which agents' transcripts can be read, and how each is found.

Knows no format: each agent's module does, and is imported on use.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Transcript:
    """`messages` counts by role, and `at_least` says that the beginning was not read. `todos` are those that are not done.
    `running` is the tool that was at work when the transcript stopped. `tokens` by kind: input, output, cached."""

    agent: str
    path: str
    conversation: str | None = None
    messages: dict[str, int] = field(default_factory=dict[str, int])
    at_least: bool = False
    last_request: str | None = None
    last_answer: str | None = None
    todos: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    running: str | None = None
    last_at: float | None = None
