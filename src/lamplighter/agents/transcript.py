"""What an agent's own transcript says of a conversation; which agents' transcripts can be read, and where each is found.

Knows no format: each agent's module does, and is imported on use. Everything here blocks and is for a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

from lamplighter.agents import journal
from lamplighter.agents.conversation import ASSISTANT, USER, Course, Named, Said, Step

READERS: dict[str, str] = {
    "claude": "lamplighter.agents.claude:TRANSCRIPTS",
    "codex": "lamplighter.agents.codex:TRANSCRIPTS",
    "gemini": "lamplighter.agents.gemini:TRANSCRIPTS",
    "opencode": "lamplighter.agents.opencode:TRANSCRIPTS",
    "acp": "lamplighter.agents.structured:TRANSCRIPTS",
}
VARIABLES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")
"""Of an agent's environment: what says where it keeps its transcripts. None of them is a secret."""
_SLACK = 2.0
_MOST_FILES = 2000


@dataclass(frozen=True, slots=True)
class Transcript:
    """`messages` counts by role, and `at_least` says that the beginning was not read. `todos` are those that are not done.
    `running` is the tool that was at work when the transcript stopped. `tokens` by kind: input, output, cached. `said` are the
    messages that were read, each within bounds."""

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
    said: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class Where:
    """A conversation to be found: the folder and the time that it ran in. `environment` is the agent's own, as far as it is
    known (VARIABLES say enough); `pids` are the agent's processes; `conversation` is what the agent itself calls it."""

    home: str
    cwd: str
    started_at: float
    ended_at: float
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    pids: Sequence[int] = ()
    conversation: str | None = None

    def named(self, variable: str) -> str | None:
        """What a variable says: on the command line (`env NAME=VALUE agent`), or in the environment."""
        start = f"{variable}="
        given = (word[len(start) :] for word in self.command[:20] if word.startswith(start))
        return next(given, None) or self.environment.get(variable) or None

    @property
    def own_home(self) -> str:
        return self.named("HOME") or self.home

    @property
    def folders(self) -> tuple[str, ...]:
        """The folder by the name that it was given, and by its real one, which is what most agents go by."""
        return tuple(dict.fromkeys((self.cwd, os.path.realpath(self.cwd))))


class Candidate(NamedTuple):
    """A transcript that may be the one: when it began and when it was last written to."""

    path: str
    begun: float
    changed: float


class Message(NamedTuple):
    """One message of a transcript. `next` is where to go on reading from."""

    role: str
    text: str
    at: float | None
    next: int


@dataclass(frozen=True, slots=True)
class Format:
    """How one agent keeps its transcripts: where, how an entry of its is known from others', what an entry says. `read` is for
    what is no file of lines."""

    agent: str
    find: Callable[[Where], str | None]
    recognises: Callable[[dict[str, Any]], bool]
    steps: Callable[[dict[str, Any]], Iterable[Step]]
    read: Callable[[str], Transcript | None] | None = None


def format_of(agent: str) -> Format | None:
    if agent not in READERS:
        return None
    module, _, attribute = READERS[agent].partition(":")
    return getattr(import_module(module), attribute)


def find(agent: str, where: Where) -> str | None:
    """Where the agent keeps the transcript of a conversation; None when there is none, or it keeps none that we can read."""
    known = format_of(agent)
    try:
        return known.find(where) if known else None
    except (OSError, ValueError):  # a folder that goes away meanwhile, a path with a NUL
        return None


def read(path: str, agent: str | None = None) -> Transcript | None:
    """What a transcript says. None when it is no regular file of this user, or in no form that is known. Without an agent's name
    the form is found out."""
    known = format_of(agent) if agent else None
    for form in (known,) if known else _formats():
        if form.read is not None and (whole := form.read(path)) is not None:
            return whole
    file = journal.open_own(path)
    if file is None:
        return None
    with file:
        try:
            form = _recognised(file, (known,) if known else _formats())
            return None if form is None else _read(form, file, path)
        except OSError:
            return None


def messages(path: str, agent: str | None = None, start: int = 0) -> Iterator[Message]:
    """What was said from a place on, in the order of the file: for whoever follows a conversation."""
    file = journal.open_own(path)
    if file is None:
        return
    with file:
        form = _recognised(file, (known,) if agent and (known := format_of(agent)) else _formats())
        for entry in journal.entries(file, start) if form else ():
            for step in form.steps(entry.document) if form else ():
                if isinstance(step, Said) and step.text and not step.hearsay:
                    yield Message(step.role, step.text, step.at, entry.next)


def _formats() -> tuple[Format, ...]:
    return tuple(form for agent in READERS if (form := format_of(agent)) is not None)


def _recognised(file: BinaryIO, forms: Iterable[Format]) -> Format | None:
    """By what is at the beginning; by what is at the end, where the beginning is one enormous line."""
    documents = journal.head(file)
    if not documents:
        size = journal.size_of(file)
        documents = [entry.document for entry in journal.entries(file, max(0, size - journal.HEAD))]
    return next((form for form in forms if any(form.recognises(document) for document in documents)), None)


def _read(form: Format, file: BinaryIO, path: str) -> Transcript:
    """From the end, and from farther back when nothing was said there."""
    size = journal.size_of(file)
    for reach in (journal.TAIL, journal.FARTHEST):
        start = max(0, size - reach)
        course = Course()
        if start:
            course.follow(
                step for document in journal.head(file) for step in form.steps(document) if isinstance(step, Named)
            )
        for entry in journal.entries(file, start, size):
            course.follow(form.steps(entry.document))
        if not start or (course.last(USER) and course.last(ASSISTANT)):
            break
    return told(form.agent, path, course, at_least=start > 0)


def told(agent: str, path: str, course: Course, *, at_least: bool) -> Transcript:
    return Transcript(
        agent=agent,
        path=path,
        conversation=course.conversation,
        messages=course.counts,
        at_least=at_least,
        last_request=course.last(USER),
        last_answer=course.last(ASSISTANT),
        todos=course.todos,
        files=tuple(course.files),
        tokens=course.tokens,
        running=course.at_work,
        last_at=course.last_at,
        said=tuple(course.messages.values()),
    )


# -- finding


def listed(folder: str, beginning: str = "", ending: str = ".jsonl") -> list[tuple[str, float]]:
    """The regular files in a folder with such names, with when each was last written to, the newest first."""
    found: list[tuple[str, float]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if (
                    entry.name.startswith(beginning)
                    and entry.name.endswith(ending)
                    and entry.is_file(follow_symlinks=False)
                ):
                    found.append((entry.path, entry.stat(follow_symlinks=False).st_mtime))
    except OSError:
        return []
    return sorted(found, key=lambda file: file[1], reverse=True)[:_MOST_FILES]


def chosen(candidates: Iterable[Candidate], where: Where) -> str | None:
    """The one that fits the time. What was begun in the time goes before what was gone on with; and of those the first, or one
    that began when it had stopped: an agent that is told to forget begins another, while two at once in one folder both go on."""
    fitting = [
        candidate
        for candidate in candidates
        if candidate.changed >= where.started_at - _SLACK and candidate.begun <= where.ended_at + _SLACK
    ]
    own = sorted((each for each in fitting if each.begun >= where.started_at - _SLACK), key=lambda each: each.begun)
    if not own:
        return max(fitting, key=lambda each: each.changed).path if fitting else None
    current = own[0]
    for each in own[1:]:
        if each.begun >= current.changed - _SLACK:
            current = each
    return current.path


def after_option(command: Sequence[str], *options: str) -> str | None:
    """What the command line says after an option, as a word of its own or behind a sign of equality."""
    for place, word in enumerate(command):
        if word in options:
            return command[place + 1] if place + 1 < len(command) else None
        name, sign, value = word.partition("=")
        if sign and name in options:
            return value
    return None
