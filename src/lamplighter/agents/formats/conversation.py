"""What goes on in a conversation, in steps that are the same whatever agent it is with, and what they come to.

Each agent's module makes steps of its own transcript's entries; here they are put together. Knows no agent and no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from lamplighter.lazy_dataclass import dataclass

USER = "user"
ASSISTANT = "assistant"
LONGEST_TEXT = 20_000
_MOST_FILES = 500
_MOST_TODOS = 200


class ConversationId(NamedTuple):
    """The conversation's own id."""

    conversation: str


class MessageSaid(NamedTuple):
    """A person's request, or a text of the agent; "" when the message has none. The same id again is the same message, with
    more in it. `hearsay`: counts for nothing, and is the request only when no other is known."""

    role: str
    text: str
    at: float | None = None
    id: str | None = None
    hearsay: bool = False


class Began(NamedTuple):
    """A tool is at work. `about` says at what; `files` are those that it writes."""

    call: str
    tool: str
    about: str = ""
    files: tuple[str, ...] = ()


class Finished(NamedTuple):
    call: str
    failed: bool = False


class Stopped(NamedTuple):
    """The turn is over: no tool is at work any more. `how`: done, interrupted or failed; `text` is said in place of an answer.
    Not `sure`: the entry alone does not tell whether a tool comes after it, so it counts once the agent is at rest."""

    how: str = "done"
    text: str = ""
    sure: bool = True


class Edited(NamedTuple):
    files: tuple[str, ...]


class Planned(NamedTuple):
    """The whole of the to-dos: each text, and whether it is done."""

    todos: tuple[tuple[str, bool], ...]


class Task(NamedTuple):
    """One to-do by its id. None: as it was before."""

    id: str
    text: str | None = None
    done: bool | None = None


class Used(NamedTuple):
    """Tokens of one message; of the whole conversation so far when there is no id."""

    tokens: dict[str, int]
    id: str | None = None


class Rewound(NamedTuple):
    """The conversation goes on from before this message."""

    id: str


Step = ConversationId | MessageSaid | Began | Finished | Stopped | Edited | Planned | Task | Used | Rewound


@dataclass
class Course:
    """The conversation as far as it was followed."""

    conversation: str | None = None
    messages: dict[str, MessageSaid] = field(default_factory=dict[str, MessageSaid])
    hearsay: str | None = None
    last_at: float | None = None
    running: dict[str, Began] = field(default_factory=dict[str, Began])
    files: dict[str, None] = field(default_factory=dict[str, None])
    tasks: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    usage: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    total: dict[str, int] = field(default_factory=dict[str, int])

    def follow(self, steps: Iterable[Step]) -> None:
        for step in steps:
            match step:
                case ConversationId():
                    self.conversation = step.conversation or self.conversation
                case MessageSaid():
                    self._hear(step)
                case Began():
                    self.running[step.call] = step
                    self._edit(step.files)
                case Finished():
                    self._finish(step)
                case Stopped():
                    self.running.clear()
                case Edited():
                    self._edit(step.files)
                case Planned():
                    self.tasks = {str(number): todo for number, todo in enumerate(step.todos[:_MOST_TODOS])}
                case Task():
                    self._plan(step)
                case Used():
                    self._use(step)
                case Rewound():
                    self._rewind(step)

    # -- what it comes to

    @property
    def counts(self) -> dict[str, int]:
        roles = [said.role for said in self.messages.values()]
        return {role: roles.count(role) for role in (USER, ASSISTANT) if role in roles}

    def last(self, role: str) -> str | None:
        texts = (said.text for said in reversed(self.messages.values()) if said.role == role and said.text)
        return next(texts, self.hearsay if role == USER else None)

    @property
    def todos(self) -> tuple[str, ...]:
        return tuple(text for text, done in self.tasks.values() if text and not done)

    @property
    def tokens(self) -> dict[str, int]:
        if self.total:
            return dict(self.total)
        kinds = dict.fromkeys(kind for used in self.usage.values() for kind in used)
        return {kind: sum(used.get(kind, 0) for used in self.usage.values()) for kind in kinds}

    @property
    def at_work(self) -> str | None:
        """The tool that was begun last and has not finished."""
        began = next(reversed(self.running.values()), None)
        return None if began is None else f"{began.tool}: {began.about}" if began.about else began.tool

    # -- one step each

    def _hear(self, said: MessageSaid) -> None:
        text = shortened(said.text.strip())
        if said.hearsay:
            self.hearsay = text or self.hearsay
            return
        self.last_at = said.at or self.last_at
        if not text and not said.id:
            return
        last = next(reversed(self.messages.values()), None)
        if last is not None and not (said.id and last.id) and (last.role, last.text) == (said.role, text):
            return  # some are written down twice, as an event and as an item
        if said.id in self.messages:
            text = text or self.messages[said.id].text
        self.messages[said.id or f"#{len(self.messages)}"] = said._replace(text=text)

    def _finish(self, finished: Finished) -> None:
        began = self.running.pop(finished.call, None)
        if began is not None and finished.failed:
            for path in began.files:
                self.files.pop(path, None)

    def _edit(self, files: Iterable[str]) -> None:
        for path in files:
            short = next((known for known in self.files if path.endswith(f"/{known}")), None)
            if short is not None:  # the same file, named from its folder before and in full now
                del self.files[short]
            if path and len(self.files) < _MOST_FILES and not any(known.endswith(f"/{path}") for known in self.files):
                self.files[path] = None

    def _plan(self, task: Task) -> None:
        text, done = self.tasks.get(task.id, ("", False))
        if task.id in self.tasks or (task.text and len(self.tasks) < _MOST_TODOS):
            self.tasks[task.id] = (task.text or text, done if task.done is None else task.done)

    def _use(self, used: Used) -> None:
        tokens = {kind: number for kind, number in used.tokens.items() if number}
        if used.id is None:
            self.total = tokens or self.total
        else:
            self.usage[used.id] = tokens

    def _rewind(self, rewound: Rewound) -> None:
        ids = list(self.messages)
        if rewound.id in ids:
            for gone in ids[ids.index(rewound.id) :]:
                del self.messages[gone]
        self.running.clear()


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """How it begins and how it ends, when it is very long."""
    if len(text) <= most:
        return text
    half = most // 2 - 10
    return f"{text[:half]}\n[…]\n{text[-half:]}"
