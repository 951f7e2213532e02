"""What an agent leaves on a machine: marks in the environment of what it starts, the shape of its tools' shells, its files; and
what tells which of its own conversations a process is of.

Knows no process: it says what to look for, and what was written down about whom. Environments hold live tokens: of what is read
here only the variables that are named count. All of it can be forged, so it names a conversation and never gives a right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lamplighter.agents import agent_named
from lamplighter.agents.formats.transcript_locator import after_option
from lamplighter.lazy_dataclass import dataclass

_FIELDS = 8
UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


@dataclass(frozen=True)
class OnRecord:
    """What an agent wrote down about a process of its own: in which session it is, and by which pid and start time it is known.
    `start` is in clock ticks since boot, None where the agent does not say; then the entry alone says whether it lives, and a
    pid of 0 that it does not. `beside` are other files of the same process."""

    path: str
    session: str
    pid: int
    start: int | None
    beside: tuple[str, ...] = ()


Registry = Callable[[str, Mapping[str, str]], Iterator[OnRecord]]
"""From a home folder and an environment (VARIABLES) to what is on record there, of this machine alone."""


@dataclass(frozen=True)
class Fingerprints:
    """Variables of three kinds: `sessions` name the conversation, `pids` the agent's process, `plain` ones only say which agent.
    `options` of its command line are followed by the conversation's id, but with one of `anew` it begins another; `calls` are
    its names in an MCP call's `_meta`, the best first; `form` is what an id looks like. `shell` matches the command line of a
    shell that a tool runs in; `output` the path of a file that only the agent reads. `daemon` are, for each kind,
    words of the command line of a process that the agent leaves running for later: it serves many conversations, and nobody
    sits at it."""

    agent: str
    sessions: tuple[str, ...] = ()
    pids: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    form: str = UUID
    shell: re.Pattern[str] | None = None
    output: re.Pattern[str] | None = None
    daemon: tuple[tuple[str, ...], ...] = ()
    registry: Registry | None = None
    variables: tuple[str, ...] = ()
    """What says where it keeps its things, beside HOME: the last that is set counts."""

    @property
    def marks(self) -> tuple[str, ...]:
        return (*self.pids, *self.sessions, *self.plain)

    def is_daemon(self, words: Sequence[str]) -> bool:
        return any(all(word in words for word in kind) for kind in self.daemon)

    def in_command(self, words: Sequence[str]) -> str | None:
        if not self.options or any(word in self.anew for word in words):
            return None
        return self._id(after_option(words[1:], *self.options))

    def in_environment(self, found: Mapping[str, str]) -> str | None:
        return next((known for name in self.sessions if (known := self._id(found.get(name)))), None)

    def in_call(self, meta: Mapping[str, Any]) -> str | None:
        return next((known for name in self.calls if (known := self._id(meta.get(name)))), None)

    def _id(self, value: Any) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(self.form, value) else None


def fingerprints_of(agent: str) -> Fingerprints:
    """What is known of what an agent leaves; nothing, for one that leaves nothing that we know."""
    return agent_named(agent).fingerprints or Fingerprints(agent)


def locked() -> dict[int, int]:
    """The files that are locked as a whole, by inode: by whom. Somebody whom this machine's numbering does not name is 1."""
    found: dict[int, int] = {}
    with suppress(OSError), open("/proc/locks") as file:
        for line in file:
            fields = line.split()
            if len(fields) == _FIELDS and fields[1] == "FLOCK":
                found[int(fields[5].rpartition(":")[2])] = max(1, int(fields[4]))
    return found


def here() -> str:
    """This machine and its numbering of processes, as some agents write them down: a home folder may be shared."""
    try:
        with open("/etc/machine-id") as file:
            machine = file.read().strip()
    except OSError:
        machine = ""
    return f"linux:{machine}:{os.readlink('/proc/self/ns/pid')}"
