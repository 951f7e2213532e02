"""What others left behind: what a process that is no session's looks like, and what makes it a leak for certain.

Knows no /proc: signs come in, a judgement with its reasons goes out. The rule for `certain`: the agent that it came from is
proven dead, whoever started it is gone, nobody holds the other end of what it speaks through, and it serves nobody. Whatever
might be a person's is `likely` at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a process came from by its mark: the agent, its session if the mark says so, and what became of it."""

    agent: str
    session: str | None
    fate: Fate
    why: str


@dataclass(frozen=True, slots=True)
class Signs:
    """One process whose starter seems to be gone, with all below it.

    `orphan` says why its starter is gone, and is empty where that cannot be proven. `mute`: the other end of its
    input is closed; `held`: somebody may type into it; `unheard`: nobody can hear it; `cut_off`: nor what it
    complains of, all by pipes; `logged`: that goes to a file of its own. `mcp` and `shell` are the shapes of its
    command line; `serves` says that it waits for clients. `agent` is set for an agent itself, `alike` for a script that
    is only called like one, `busy` for a daemon that is in use.
    """

    origins: tuple[Origin, ...]
    orphan: str
    mute: bool
    unheard: bool
    held: bool = False
    cut_off: bool = False
    logged: bool = False
    mcp: bool = False
    shell: bool = False
    agent: str = ""
    alike: bool = False
    daemon: bool = False
    serves: bool = False
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    kind: Leftover
    certainty: Certainty
    why: tuple[str, ...]
    agent: str = ""
    session: str | None = None


_MUTE = "nobody holds the other end of its input"
_UNHEARD = "nobody can read what it prints"


def judge(signs: Signs) -> Judgement | None:
    """What a process is, how sure that is, and why; None for what is not to be listed."""
    if signs.agent:
        return _of_an_agent(signs)
    dead = [origin for origin in signs.origins if origin.fate is Fate.DEAD]
    alive = any(origin.fate is Fate.ALIVE for origin in signs.origins)
    if not signs.origins:
        return _unmarked(signs)
    if not dead and alive:
        return None
    origin = dead[0] if dead else signs.origins[0]
    silent = signs.mute or signs.unheard
    if not silent and not (signs.orphan and (dead or origin.session)):
        return None  # whoever it hangs below may have started it, or an agent that lives
    if not dead and signs.mcp and (alone := _unmarked(signs)) is not None:
        return replace(alone, agent=origin.agent, session=origin.session)
    kind = _kind(signs)
    sure = bool(dead) and not alive and all(each.fate is Fate.DEAD for each in signs.origins) and bool(signs.orphan)
    why = [origin.why, *([signs.orphan] if signs.orphan else []), *_speech(signs)]
    sure = sure and not signs.held and (signs.mute if kind is Leftover.MCP_SERVER else signs.unheard)
    if signs.serves and kind is not Leftover.MCP_SERVER:
        sure = False
        why.append("but it waits for clients: somebody may use it")
    elif signs.logged and kind is not Leftover.MCP_SERVER:
        sure = False  # what a program has to tell it mostly writes there
        why.append("but what it complains of goes to a file that a person may read")
    elif not silent:
        why.append("but its output goes where a person may read it")
    if alive:
        why.append("but another agent above it is alive")
    certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
    return Judgement(kind, certainty, tuple(why), origin.agent, origin.session)


def _kind(signs: Signs) -> Leftover:
    if signs.shell:
        return Leftover.TOOL_SHELL
    # A tool has no input to speak of; a server was spoken to.
    return Leftover.MCP_SERVER if signs.mute and (signs.mcp or signs.unheard) and not signs.serves else _by_name(signs)


def _by_name(signs: Signs) -> Leftover:
    return Leftover.MCP_SERVER if signs.mcp and signs.mute else Leftover.JOB


def _speech(signs: Signs) -> list[str]:
    return [*([_MUTE] if signs.mute else []), *([_UNHEARD] if signs.unheard else [])]


def _unmarked(signs: Signs) -> Judgement | None:
    """Some agents give their servers an empty environment. What is called an MCP server and has lost all that it spoke through
    is one whose client is gone, whichever that was. What is not called so may be an agent's, or an editor's."""
    if not (signs.mute and signs.unheard and signs.orphan):
        return None
    if not signs.mcp:
        why = (signs.orphan, *_speech(signs), "but nothing says whose it was")
        return Judgement(Leftover.SERVER, Certainty.LIKELY, why) if signs.cut_off and not signs.serves else None
    why = [signs.orphan, *_speech(signs), "its command says that it is an MCP server"]
    if signs.serves:
        return Judgement(Leftover.MCP_SERVER, Certainty.LIKELY, (*why, "but it waits for clients: somebody may use it"))
    return Judgement(Leftover.MCP_SERVER, Certainty.CERTAIN, tuple(why))


def _of_an_agent(signs: Signs) -> Judgement | None:
    """An agent that finished and never exited: nobody can speak to it or hear it. One that works on without us is no leak."""
    if signs.daemon:
        if signs.busy or not signs.orphan:
            return None
        why = (signs.orphan, f"no {signs.agent} runs that could use it, and nobody is connected to it")
        return Judgement(Leftover.DAEMON, Certainty.CERTAIN, why, signs.agent)
    if not signs.orphan or not signs.mute:
        return None
    why = (signs.orphan, *_speech(signs))
    if signs.alike:
        return Judgement(Leftover.AGENT, Certainty.LIKELY, (*why, "but its script is only called like it"), signs.agent)
    certainty = Certainty.CERTAIN if signs.unheard and not signs.serves else Certainty.LIKELY
    return Judgement(Leftover.AGENT, certainty, why, signs.agent)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LeakedFile:
    """A file that a dead process of an agent left. `pid` and `start` are that process's, as the agent wrote them down."""

    path: str
    pid: int
    start: int | None
    what: str
    changed: int
    """When it was last written to, in nanoseconds: one that was written anew is another."""


@dataclass(frozen=True, slots=True)
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
