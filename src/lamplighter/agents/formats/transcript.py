"""What an agent's own transcript says of a conversation; which agents' transcripts can be read, and where each is found.

Knows no format. Everything here blocks and is for a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from lamplighter.agents import agent_named, agent_names
from lamplighter.agents.formats import jsonl
from lamplighter.agents.formats.conversation import ASSISTANT, USER, ConversationId, Course, MessageSaid, Step
from lamplighter.agents.formats.transcript_locator import Candidate, LocatedTranscript, Where, chosen
from lamplighter.lazy_dataclass import dataclass

ACP = "acp"
"""Whose form our own record of a conversation over ACP is in, whatever agent it is with."""


class Moved(NamedTuple):
    """A step, or nothing that anybody said, and the place to go on from after it."""

    step: Step | None
    next: int


@dataclass(frozen=True)
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
    said: tuple[MessageSaid, ...] = ()


@dataclass(frozen=True)
class Format:
    """How one agent keeps its transcripts. `named`: the conversation that its processes, its name or its command line tell of;
    `candidates`: those that may be the one where nothing does; `name_of`: what the agent calls the one at a path; `announced`:
    what a line of its machine-readable output calls it, or ""; `recognises`: whether an entry is its; `steps`: what one says.
    `read`, `stream`, `tokens` and `end` are for what is no file of lines. `again`: options by which
    it goes on with an older one. `lazy`: on a terminal it begins one only when something is said to it. `variable` says where
    it keeps them, beside HOME."""

    agent: str
    named: Callable[[Where], LocatedTranscript | None]
    candidates: Callable[[Where], Iterable[Candidate]]
    name_of: Callable[[str], str]
    announced: Callable[[dict[str, Any]], str]
    recognises: Callable[[dict[str, Any]], bool]
    steps: Callable[[dict[str, Any]], Iterable[Step]]
    read: Callable[[str], Transcript | None] | None = None
    stream: Callable[[str, int, bool], Iterable[Moved]] | None = None
    tokens: Callable[[str], dict[str, int]] | None = None
    end: Callable[[str], int] | None = None
    again: frozenset[str] = frozenset()
    lazy: bool = False
    variable: str | None = None


def format_of(agent: str) -> Format | None:
    if agent == ACP:
        from lamplighter.agents.formats.acp import TRANSCRIPTS

        return TRANSCRIPTS
    return agent_named(agent).transcripts


def find(agent: str, where: Where) -> str | None:
    """Where the agent keeps the transcript of a conversation; None when there is none, or it keeps none that we can read."""
    known = format_of(agent)
    if known is None:
        return None
    try:
        found = known.named(where)
        if found is not None and found.path is not None:
            return found.path
        best = chosen(known.candidates(where), where)
    except (OSError, ValueError):  # a folder that goes away meanwhile, a path with a NUL
        return None
    return best.path if best else None


def read(path: str, agent: str | None = None) -> Transcript | None:
    """What a transcript says. None when it is no regular file of this user, or in no form that is known. Without an agent's name
    the form is found out."""
    known = format_of(agent) if agent else None
    for form in (known,) if known else formats():
        if form.read is not None and (whole := form.read(path)) is not None:
            return whole
    file = jsonl.open_own(path)
    if file is None:
        return None
    with file:
        try:
            form = recognised(file, (known,) if known else formats())
            return None if form is None else _read(form, file, path)
        except OSError:
            return None


def formats() -> tuple[Format, ...]:
    """All that can be read."""
    return tuple(form for name in (*agent_names(), ACP) if (form := format_of(name)) is not None)


@lru_cache(maxsize=1)
def variables() -> tuple[str, ...]:
    """Of an agent's environment: what says where it keeps its transcripts. None of them is a secret."""
    return ("HOME", *(form.variable for form in formats() if form.variable))


def recognised(file: BinaryIO, forms: Iterable[Format]) -> Format | None:
    """By what is at the beginning; by what is at the end, where the beginning is one enormous line."""
    documents = jsonl.head(file)
    if not documents:
        size = jsonl.size_of(file)
        documents = [entry.document for entry in jsonl.entries(file, max(0, size - jsonl.HEAD))]
    return next((form for form in forms if any(form.recognises(document) for document in documents)), None)


def _read(form: Format, file: BinaryIO, path: str) -> Transcript:
    """From the end, and from farther back when nothing was said there."""
    size = jsonl.size_of(file)
    for reach in (jsonl.TAIL, jsonl.FARTHEST):
        start = max(0, size - reach)
        course = Course()
        if start:
            course.follow(
                step
                for document in jsonl.head(file)
                for step in form.steps(document)
                if isinstance(step, ConversationId)
            )
        for entry in jsonl.entries(file, start, size):
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
