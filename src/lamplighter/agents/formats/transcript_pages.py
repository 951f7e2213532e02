"""A transcript in pages: messages from a place on, each once, however often the agent writes it down; its last turn; its tokens.

A place is a number that means something to the transcript's form alone: a byte of a file, a row of a database. Knows no agent;
everything here blocks and is for a thread.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, NamedTuple

from lamplighter.agents.formats import jsonl
from lamplighter.agents.formats.conversation import (
    ASSISTANT,
    USER,
    Began,
    MessageSaid,
    Rewound,
    Step,
    Stopped,
    Used,
    shortened,
)
from lamplighter.agents.formats.transcript import Moved, format_of, read, recognised
from lamplighter.lazy_dataclass import dataclass

TOOL = "tool"
_LONGEST = 200_000
_LOOK_BACK = 1 << 20
_MOST_KNOWN = 500
_ABOUT = 160
_REACHES = (1 << 20, 8 << 20, 64 << 20)


class TranscriptMessage(NamedTuple):
    """What was said, or a tool that was used, in one line. `next` is where to go on reading from."""

    role: str
    text: str
    at: float | None
    id: str | None
    next: int


class TranscriptPage(NamedTuple):
    """`next` is where to go on from, also when there is no message; `more`: there is more already."""

    messages: tuple[TranscriptMessage, ...]
    next: int
    more: bool


def page(path: str, agent: str, start: int, most: int, *, ended: bool = False) -> TranscriptPage:
    """The messages from a place on, as many as have room in so many bytes; one at least, if there is one."""
    known = _Known()
    taken: list[TranscriptMessage] = []
    place, room = start, most
    back = _LOOK_BACK if size(path) is not None else 0
    for step, following in moves(path, agent, max(0, start - back), ended=ended):
        # A line that had no end yet when it was read ends one byte later now. Rows and numbers are never looked back at.
        if following <= start + (1 if back and start else 0):
            known.message(step, following)  # only to know it again
            continue
        if room <= 0 and following > place:
            return TranscriptPage(tuple(taken), place, True)
        place = following
        if (message := known.message(step, following)) is not None:
            taken.append(message)
            room -= len(message.text.encode(errors="replace"))
    return TranscriptPage(tuple(taken), place, False)


def tail(path: str, agent: str, count: int, most: int, *, ended: bool = False) -> TranscriptPage:
    """The last messages: at most so many, and so many bytes of them."""
    found, place = deque[TranscriptMessage](maxlen=count), 0
    for start in starts(path):
        known, place = _Known(), start
        found.clear()
        for step, following in moves(path, agent, start, ended=ended):
            place = following
            if (message := known.message(step, following)) is not None:
                found.append(message)
        if len(found) >= count:
            break
    while len(found) > 1 and sum(len(one.text.encode(errors="replace")) for one in found) > most:
        found.popleft()
    return TranscriptPage(tuple(found), place, False)


def starts(path: str) -> Iterator[int]:
    """Places to begin at for somebody who wants the end: not far from it, then farther, at last the beginning."""
    end = size(path) or 0
    for reach in _REACHES:
        if end > reach:
            yield end - reach
    yield 0


def end(path: str, agent: str) -> int:
    """A place that nothing is behind."""
    form = format_of(agent)
    if form is not None and form.end is not None:
        return form.end(path)
    if path.endswith(".json"):
        return sum(1 for _ in _whole(path, agent, 0))
    return (size(path) or 0) + 1  # a last line without an end gets one


def place_at(path: str, agent: str, at: float) -> int:
    """The place before what was said at a time or later."""
    place = 0
    for step, following in moves(path, agent):
        if isinstance(step, MessageSaid) and step.at is not None and step.at >= at:
            break
        place = following
    return place


def signature(path: str) -> tuple[tuple[int, int, int] | None, ...]:
    """What changes whenever a transcript does; that of a database is written beside it first."""
    place = path.rpartition("#")[0] if "#" in path and not os.path.exists(path) else path
    found: list[tuple[int, int, int] | None] = []
    for name in (place, f"{place}-wal"):
        try:
            seen = os.stat(name)
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
        except (OSError, ValueError):
            found.append(None)
    return tuple(found)


def size(path: str) -> int | None:
    """Of a file of lines; None for anything else."""
    file = jsonl.open_own(path) if not path.endswith(".json") else None
    if file is None:
        return None
    with file:
        return jsonl.size_of(file)


def moves(path: str, agent: str, start: int = 0, *, ended: bool = False) -> Iterator[Moved]:
    """The steps from a place on, in the order of the transcript. Nothing for what is none."""
    form = format_of(agent)
    if form is None:
        return
    if form.stream is not None:
        yield from form.stream(path, start, ended)
        return
    if path.endswith(".json"):
        yield from _whole(path, agent, start)
        return
    file = jsonl.open_own(path)
    if file is None:
        return
    with file:
        if recognised(file, (form,)) is None:
            return
        for entry in jsonl.entries(file, start):
            for step in form.steps(entry.document):
                yield Moved(step, entry.next)
            yield Moved(None, entry.next)


def _whole(path: str, agent: str, start: int) -> Iterator[Moved]:
    """One document with everything in it, written anew each time: places are the numbers of its messages."""
    found = read(path, agent)
    for number, said in enumerate(found.said if found else ()):
        if number >= start:
            yield Moved(said, number + 1)


class _Known:
    """What was said before, so that nothing is said twice: some agents write a message again when there is more in it, some write
    it down in two forms."""

    def __init__(self) -> None:
        self.texts: OrderedDict[str, list[str]] = OrderedDict()
        self.calls: OrderedDict[str, None] = OrderedDict()
        self.last: tuple[str, str | None, str] | None = None

    def message(self, step: Step | None, following: int) -> TranscriptMessage | None:
        """The step as a message, when it is one that was not there before."""
        match step:
            case MessageSaid():
                text = self._news(step)
                return (
                    TranscriptMessage(step.role, shortened(text, _LONGEST), step.at, step.id, following)
                    if text
                    else None
                )
            case Began():
                return self._tool(step, following)
            case Stopped(text=text) if text:
                return TranscriptMessage(ASSISTANT, shortened(text, _LONGEST), None, None, following)
            case Stopped() | Rewound():
                self.last = None
                return None
            case _:
                return None

    def _news(self, said: MessageSaid) -> str:
        text = said.text.strip()
        if said.hearsay or not text:
            return ""
        before, self.last = self.last, (said.role, said.id, text)
        if before is not None and not (said.id and before[1]) and (before[0], before[2]) == (said.role, text):
            return ""
        if said.id is None:
            return text
        known = self.texts.setdefault(said.id, [])
        _keep_few(self.texts)
        if text in known:
            return ""
        if known and text.startswith(known[-1]):
            rest = text[len(known[-1]) :].lstrip("\n")
            known[-1] = text
            return rest
        known.append(text)
        return text

    def _tool(self, began: Began, following: int) -> TranscriptMessage | None:
        if began.call in self.calls:
            return None
        if began.call:
            self.calls[began.call] = None
            _keep_few(self.calls)
        about = " ".join(began.about.split())
        about = about if len(about) <= _ABOUT else about[: _ABOUT - 1] + "…"
        return TranscriptMessage(
            TOOL, f"{began.tool}: {about}" if about else began.tool, None, began.call or None, following
        )


def _keep_few(known: OrderedDict[str, Any]) -> None:
    while len(known) > _MOST_KNOWN:
        known.popitem(last=False)


# -- turns


@dataclass
class Turn:
    """What a person asked, and what came of it so far. `how`: "" while it goes on, done, interrupted or failed; not `sure`: it
    counts once the agent is at rest."""

    request: str
    at: float | None
    place: int
    how: str = ""
    sure: bool = True
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # by the message that they are parts of
    said: str = ""

    @property
    def reply(self) -> str:
        """The last message of the agent, with all of its parts."""
        return self.said or "\n".join(next(reversed(self.texts.values()), ()))

    def follow(self, step: Step | None) -> None:
        match step:
            case MessageSaid(role=role, text=text) if role == ASSISTANT and text.strip():
                self._hear(step, text.strip())
            case Began():
                self.how = ""
            case Stopped():
                self.how, self.sure, self.said = step.how, step.sure, step.text.strip()
            case _:
                return

    def _hear(self, said: MessageSaid, text: str) -> None:
        parts = self.texts.get(said.id or "")
        if said.id is None or parts is None:
            if text == self.reply:
                return  # written down in two forms
            self.texts.pop(said.id or "", None)
            self.texts[said.id or ""] = [text]
        elif text not in parts:
            parts[:] = [*parts[:-1], text] if text.startswith(parts[-1]) else [*parts, text]
        self.how = ""


def turns(path: str, agent: str, start: int = 0, *, ended: bool = False) -> Iterator[Turn]:
    """The turns from a place on. What is asked while one goes on begins another."""
    current: Turn | None = None
    place = last = start
    for step, following in moves(path, agent, start, ended=ended):
        if following != last:  # another entry, and not the next step of the same one
            place, last = last, following
        if isinstance(step, MessageSaid) and step.role == USER and step.text.strip() and not step.hearsay:
            if current is not None and not current.texts and current.request == step.text.strip():
                continue  # written down in two forms
            if current is not None:
                yield current
            current = Turn(step.text.strip(), step.at, place)
        elif current is not None:
            current.follow(step)
    if current is not None:
        yield current


# -- tokens


class Tally:
    """Tokens of one transcript, counted on from where it was counted to."""

    def __init__(self, path: str, agent: str) -> None:
        self.path = path
        self.agent = agent
        self.place = 0
        self.total: dict[str, int] = {}
        self._recent: OrderedDict[str, dict[str, int]] = OrderedDict()

    def count(self) -> dict[str, int]:
        form = format_of(self.agent)
        if form is not None and form.tokens is not None:
            self.total = form.tokens(self.path) or self.total
            return self.total
        for step, following in moves(self.path, self.agent, self.place):
            if isinstance(step, Used):
                self._use(step)
            self.place = following
        return self.total

    def _use(self, used: Used) -> None:
        tokens = {kind: number for kind, number in used.tokens.items() if number}
        if used.id is None:
            self.total = tokens or self.total
            return
        before = self._recent.pop(used.id, {})  # written again: it counts once
        self._recent[used.id] = tokens
        while len(self._recent) > _MOST_KNOWN:
            self._recent.popitem(last=False)
        for kind in {*tokens, *before}:
            self.total[kind] = self.total.get(kind, 0) + tokens.get(kind, 0) - before.get(kind, 0)


def announced(agent: str, lines: Iterable[bytes]) -> str | None:
    """What the agent calls its conversation in lines of its machine-readable output."""
    form = format_of(agent)
    documents = (document for line in lines if (document := jsonl.parse(line)) is not None)
    return next((name for document in documents if form and (name := form.announced(document))), None)
