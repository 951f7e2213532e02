"""Where agents keep their conversations, and which of several is the one that is meant. Knows no agent; blocks, for a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from lamplighter.agents.formats.conversation import USER, MessageSaid, Step
from lamplighter.lazy_dataclass import dataclass

_SLACK = 2.0
_MOST_FILES = 2000


@dataclass(frozen=True)
class Where:
    """A conversation to be found: the folder and the time that it ran in. `environment` is the agent's own, as far as it is
    known (VARIABLES say enough); `pids` are the agent's processes, and `starts` when each of them was started, in ticks;
    `conversation` is what the agent itself calls it."""

    home: str
    cwd: str
    started_at: float
    ended_at: float
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    pids: Sequence[int] = ()
    starts: Mapping[int, int] = field(default_factory=dict[int, int])
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


class LocatedTranscript(NamedTuple):
    """A conversation by what its agent calls it, and its transcript, where there is one already. `sure`: its process says so."""

    conversation: str
    path: str | None
    sure: bool = False


class Candidate(NamedTuple):
    """A transcript that may be the one: when it began, when it was last written to, and what was asked first in it."""

    path: str
    conversation: str
    begun: float
    changed: float
    asked: str = ""


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


def chosen(candidates: Iterable[Candidate], where: Where) -> Candidate | None:
    """The one that fits the time. What was begun in the time goes before what was gone on with; of those the one that was asked
    what the command line says, else the first, or one that began when it had stopped: an agent that is told to forget begins
    another, while two at once in one folder both go on."""
    fitting = [
        candidate
        for candidate in candidates
        if candidate.changed >= where.started_at - _SLACK and candidate.begun <= where.ended_at + _SLACK
    ]
    own = sorted((each for each in fitting if each.begun >= where.started_at - _SLACK), key=lambda each: each.begun)
    if not own:
        return max(fitting, key=lambda each: each.changed, default=None)
    given = {word.strip() for word in where.command[1:]}
    if told := [each for each in own if each.asked and each.asked in given]:
        return told[0]
    current = own[0]
    for each in own[1:]:
        if each.begun >= current.changed - _SLACK:
            current = each
    return current


def after_option(command: Sequence[str], *options: str) -> str | None:
    """What the command line says after an option, as a word of its own or behind a sign of equality."""
    for place, word in enumerate(command):
        if word in options:
            return command[place + 1] if place + 1 < len(command) else None
        name, sign, value = word.partition("=")
        if sign and name in options:
            return value
    return None


def asked(documents: Iterable[dict[str, Any]], steps: Callable[[dict[str, Any]], Iterable[Step]]) -> str:
    """The first request in these entries."""
    found = (step for document in documents for step in steps(document))
    return next(
        (step.text.strip() for step in found if isinstance(step, MessageSaid) and step.role == USER and step.text), ""
    )


def open_files(pid: int, beginning: str) -> list[str]:
    """The files below a folder that a process has open now."""
    found: list[str] = []
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = os.readlink(f"/proc/{pid}/fd/{number}")
            if path.startswith(beginning):
                found.append(path)
    except OSError:  # it goes away meanwhile
        pass
    return found
