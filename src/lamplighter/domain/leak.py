"""What others left behind: what a process that is no session's looks like, and what makes it a leak for certain.

Knows no /proc: signs come in, a judgement with its reasons goes out, or why there is none. The rule for `certain`: the agent
that it came from is proven dead, whoever started it is gone, nobody holds the other end of what it speaks through, it serves
nobody and writes no file. Whatever might be a person's is `likely` at most, and so is what is only called like a leak.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from lamplighter.lazy_dataclass import dataclass


class Certainty(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"


class Leftover(StrEnum):
    """What a leaked process is."""

    MCP_SERVER = "mcp server"
    SERVER = "server"
    TOOL_SHELL = "tool shell"
    JOB = "background job"
    DAEMON = "agent daemon"
    AGENT = "agent"
    CHILD = "child"
    FILES = "files"


class Fate(StrEnum):
    """What is known of the agent that a mark names. `unsure`: no proof, but none that lives is known to be it."""

    DEAD = "dead"
    UNSURE = "unsure"
    ALIVE = "alive"


@dataclass(frozen=True)
class Origin:
    """Where a process came from by its mark: the agent, its session if the mark says so, and what became of it."""

    agent: str
    session: str | None
    fate: Fate
    why: str


@dataclass(frozen=True)
class LeakEvidence:
    """One process whose starter seems to be gone, with all below it.

    `orphan` says why its starter is gone, and is empty where that cannot be proven. `mute`: the other end of its
    input is closed; `held`: somebody may type into it; `unheard`: nobody can hear it; `quiet`: what it prints goes to
    /dev/null; `heard`: somebody reads it; `cut_off`: nor what it complains of, all by pipes; `logged`: that goes to a
    file of its own. `writes` is a file that it, or a process below it, has written to lately. `mcp` and `shell` are the
    shapes of its command line; `serves` says that it waits for clients. `agent` is set for an agent itself, `alike` for
    a script that is only called like one, `busy` for a daemon that is in use.
    """

    origins: tuple[Origin, ...]
    orphan: str
    mute: bool
    unheard: bool
    held: bool = False
    quiet: bool = False
    heard: bool = False
    cut_off: bool = False
    logged: bool = False
    writes: str = ""
    mcp: bool = False
    shell: bool = False
    agent: str = ""
    alike: bool = False
    daemon: bool = False
    serves: bool = False
    busy: bool = False


@dataclass(frozen=True)
class LeakVerdict:
    kind: Leftover
    certainty: Certainty
    why: tuple[str, ...]
    agent: str = ""
    session: str | None = None


@dataclass(frozen=True)
class Cleared:
    """What is not to be listed, and why."""

    why: str


_MUTE = "nobody holds the other end of its input"
_UNHEARD = "nobody can read what it prints"
_STARTER = "nothing proves that whoever started it is gone"


def judge(signs: LeakEvidence) -> LeakVerdict | Cleared:
    """What a process is, how sure that is, and why; or why it is not to be listed."""
    if signs.agent:
        return _of_an_agent(signs)
    if not signs.origins:
        return _unmarked(signs)
    dead = [origin for origin in signs.origins if origin.fate is Fate.DEAD]
    alive = any(origin.fate is Fate.ALIVE for origin in signs.origins)
    if not dead and alive:
        return Cleared(f"it came from {signs.origins[0].agent}, which is alive")
    origin = dead[0] if dead else signs.origins[0]
    if not (signs.mute or signs.unheard) and not (signs.orphan and (dead or origin.session)):
        return Cleared(
            _STARTER if not signs.orphan else f"it came from {origin.agent}, and nothing proves that this is gone"
        )
    if not dead and signs.mcp and isinstance(alone := _unmarked(signs), LeakVerdict):
        return replace(alone, agent=origin.agent, session=origin.session)
    kind = _kind(signs)
    doubts = _doubts(signs, kind, alive=alive)
    sure = all(each.fate is Fate.DEAD for each in signs.origins) and bool(signs.orphan) and not doubts
    sure = sure and not signs.held and (signs.mute if kind is Leftover.MCP_SERVER else signs.unheard)
    why = (origin.why, *([signs.orphan] if signs.orphan else []), *_speech(signs), *doubts)
    return LeakVerdict(kind, Certainty.CERTAIN if sure else Certainty.LIKELY, why, origin.agent, origin.session)


def _kind(signs: LeakEvidence) -> Leftover:
    if signs.shell:
        return Leftover.TOOL_SHELL
    # A tool has no input to speak of; a server was spoken to.
    spoken_to = signs.mute and (signs.mcp or (signs.unheard and not signs.serves))
    called_so = signs.mcp and signs.quiet and not signs.held
    return Leftover.MCP_SERVER if spoken_to or called_so else Leftover.JOB


def _doubts(signs: LeakEvidence, kind: Leftover, *, alive: bool) -> list[str]:
    """What speaks for its being meant to go on."""
    found: list[str] = []
    server = kind is Leftover.MCP_SERVER
    if signs.serves and not (server and signs.mute):
        found.append("but it waits for clients: somebody may use it")
    elif signs.logged and not server:
        found.append("but what it complains of goes to a file that a person may read")  # most programs' logs do
    elif signs.quiet and not (signs.mute or signs.unheard):
        found.append("but its output goes to /dev/null: it may be meant to go on")
    elif not (signs.mute or signs.unheard):
        found.append("but its output goes where a person may read it")
    if signs.held:
        found.append("but somebody holds its input")
    if signs.writes:
        found.append(f"but it has just written to {signs.writes}")
    if alive:
        found.append("but another agent above it is alive")
    return found


def _speech(signs: LeakEvidence) -> list[str]:
    return [*([_MUTE] if signs.mute else []), *([_UNHEARD] if signs.unheard else [])]


def _unmarked(signs: LeakEvidence) -> LeakVerdict | Cleared:
    """Some agents give their servers an empty environment. What is called an MCP server, and was left by whoever started it, is
    likely to be one of those; what is not called so, and has lost all that it spoke through, may be an agent's or an editor's."""
    if not signs.orphan:
        return Cleared(_STARTER)
    if signs.held or signs.heard:
        return Cleared(
            f"it carries no agent's mark, and somebody {'holds its input' if signs.held else 'reads what it prints'}"
        )
    if signs.serves and not (signs.mcp and signs.mute):
        return Cleared("it carries no agent's mark, and waits for clients")
    if signs.mcp:
        why = (signs.orphan, *_speech(signs), "its command says that it is an MCP server")
        return LeakVerdict(Leftover.MCP_SERVER, Certainty.LIKELY, (*why, *_alone(signs)))
    if not (signs.mute and signs.unheard and signs.cut_off):
        return Cleared("nothing says that it came from an agent: it carries no mark, and is not called an MCP server")
    why = (signs.orphan, *_speech(signs), "but nothing says whose it was")
    return LeakVerdict(Leftover.SERVER, Certainty.LIKELY, why)


def _alone(signs: LeakEvidence) -> list[str]:
    """Why a name is not enough."""
    return [*_doubts(signs, Leftover.MCP_SERVER, alive=False), "but only its name says whose it was"]


def _of_an_agent(signs: LeakEvidence) -> LeakVerdict | Cleared:
    """An agent that finished and never exited: nobody can speak to it or hear it. One that works on without us is no leak."""
    if not signs.orphan:
        return Cleared(_STARTER)
    if signs.daemon:
        if signs.busy:
            return Cleared(f"it is a daemon of {signs.agent} that is in use")
        why = (signs.orphan, f"no {signs.agent} runs that could use it, and nobody is connected to it")
        return LeakVerdict(Leftover.DAEMON, Certainty.CERTAIN, why, signs.agent)
    if not signs.mute:
        return Cleared(f"it is a living {signs.agent}")
    why = (signs.orphan, *_speech(signs))
    if signs.alike:
        return LeakVerdict(
            Leftover.AGENT, Certainty.LIKELY, (*why, "but its script is only called like it"), signs.agent
        )
    if signs.writes:
        why = (*why, f"but it has just written to {signs.writes}")
    certainty = Certainty.CERTAIN if signs.unheard and not signs.serves and not signs.writes else Certainty.LIKELY
    return LeakVerdict(Leftover.AGENT, certainty, why, signs.agent)


@dataclass(frozen=True)
class Leaked:
    """One process of a group, known by pid and start time. `since` is when it was started, in Unix seconds."""

    pid: int
    start: int
    kind: Leftover
    command: str
    since: float
    memory: int
    why: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int, int]:
        return self.pid, self.start

    @staticmethod
    def from_document(document: dict[str, Any]) -> Leaked:
        values: dict[str, Any] = {**document, "kind": Leftover(document["kind"]), "why": tuple(document["why"])}
        return Leaked(**values)


@dataclass(frozen=True)
class LeakedFile:
    """A file that a dead process of an agent left. `pid` and `start` are that process's, as the agent wrote them down."""

    path: str
    pid: int
    start: int | None
    what: str
    changed: int
    """When it was last written to, in nanoseconds: one that was written anew is another."""


@dataclass(frozen=True)
class Leak:
    """What one dead session left: its processes, topmost first, and its files. `spared` are processes below these that
    may be a person's, and are another leak or none."""

    id: str
    agent: str
    session: str | None
    certainty: Certainty
    why: tuple[str, ...]
    processes: tuple[Leaked, ...] = ()
    files: tuple[LeakedFile, ...] = ()
    spared: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """What it is called in a list: whose, and of which session."""
        whose = self.agent or "of somebody"
        return f"{whose} {self.session[:8]}" if self.session and " " not in self.session else whose

    @property
    def memory(self) -> int:
        return sum(each.memory for each in self.processes)

    @property
    def since(self) -> float | None:
        return min((each.since for each in self.processes), default=None)

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_document(document: dict[str, Any]) -> Leak:
        values: dict[str, Any] = {
            **document,
            "certainty": Certainty(document["certainty"]),
            "why": tuple(document["why"]),
            "processes": tuple(Leaked.from_document(each) for each in document["processes"]),
            "files": tuple(LeakedFile(**each) for each in document["files"]),
            "spared": tuple((pid, start) for pid, start in document["spared"]),
        }
        return Leak(**values)


def name_leak(agent: str, session: str | None, certainty: Certainty, keys: Iterable[tuple[int, int]]) -> str:
    """The same from scan to scan: by the session where one is known, else by the topmost process."""
    what = session if session is not None else repr(min(keys, default=()))
    return f"leak-{sha256('|'.join((agent, what, certainty)).encode()).hexdigest()[:8]}"
