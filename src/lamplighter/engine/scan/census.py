"""One pass over the processes of this user: who carries an agent's mark, who is an agent, whose starter is gone.

Knows /proc and the agents' traces; judges nothing. It reads every process's stat, and more only of those that could matter:
what was handed to another parent has another session than that parent, or leads one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import field
from functools import cached_property

from lamplighter import lazy_re as re
from lamplighter.agents import every_agent, recognise
from lamplighter.agents.formats.fingerprints import Fingerprints, OnRecord
from lamplighter.agents.formats.program import Program
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK
from lamplighter.lazy_dataclass import dataclass

Key = tuple[int, int]
# Who takes over what others leave: init, a user's systemd, and what stands in for them in containers.
_REAPERS = frozenset(
    name.encode() for name in ("systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runit")
)
MULTIPLEXERS = frozenset(
    name.encode() for name in ("tmux: server", "screen", "SCREEN", "zellij", "dtach", "abduco", "mosh-server")
)
# Node calls its main thread so, and ps shows that.
_INTERPRETERS = frozenset((b"node", b"nodejs", b"bun", b"deno", b"MainThread", b"node-MainThread"))
_MCP = re.compile(r"(?i)(?<![a-z])mcp(?![a-z])|model-?context-?protocol")
# Where programs are installed: what is above says which project they are of, not what they are.
_INSTALLED = re.compile(r"[^\s=]*/(?:node_modules|site-packages|bin)/")
_LONGEST_NAME = 15
KERNEL = 2
_ENVIRONMENT = 1 << 17
_LONGEST_COMMAND = 8192


@dataclass(frozen=True)
class MarkedProcess:
    """A process that carries marks: by variable, with what says where its agent keeps things."""

    stat: proc.Stat
    marks: dict[str, str]


@dataclass
class Census:
    """`ours` are the processes that Lamplighter itself answers for: nothing at or below them is looked at."""

    ours: set[Key]
    home: str
    processes: dict[int, proc.Stat] = field(default_factory=dict[int, proc.Stat])
    agents: dict[int, tuple[proc.Stat, Program, list[str]]] = field(
        default_factory=dict[int, tuple[proc.Stat, Program, list[str]]]
    )
    homes: set[tuple[str, tuple[tuple[str, str], ...]]] = field(
        default_factory=set[tuple[str, tuple[tuple[str, str], ...]]]
    )

    @cached_property
    def traces(self) -> tuple[Fingerprints, ...]:
        return tuple(agent.fingerprints for agent in every_agent() if agent.fingerprints)

    def take(self) -> None:
        self.processes = proc.scan()
        self._mine = {pid for pid, start in self.ours if pid in self.processes and self.processes[pid].start == start}
        self._find_agents()

    # -- who is there

    @cached_property
    def children(self) -> dict[int, list[proc.Stat]]:
        found: dict[int, list[proc.Stat]] = {}
        for stat in self.processes.values():
            if stat.state not in "ZX":
                found.setdefault(stat.parent, []).append(stat)
        return found

    def below(self, top: proc.Stat, but: Collection[proc.Stat] = ()) -> list[proc.Stat]:
        """It and all that descends from it, topmost first; nothing at or below `but`."""
        found, at = [top], 0
        while at < len(found):
            found += [stat for stat in self.children.get(found[at].pid, ()) if stat not in but]
            at += 1
        return found

    def above(self, stat: proc.Stat) -> Iterator[proc.Stat]:
        """Its ancestors, nearest first, without pid 1. A parent that is younger took over the pid of one that died."""
        seen = 0
        while seen < 1000:
            parent = self.processes.get(stat.parent)
            if parent is None or parent.pid <= 1 or parent.start > stat.start:
                return
            yield parent
            stat, seen = parent, seen + 1

    def is_ours(self, stat: proc.Stat) -> bool:
        return stat.pid in self._mine or any(each.pid in self._mine for each in self.above(stat))

    def is_in_a_session(self, stat: proc.Stat) -> bool:
        """Whether it was started in a session of Lamplighter, this one or another on the machine."""
        return f"{MARK}=".encode() in _environment(stat.pid)

    def _find_agents(self) -> None:
        names = {
            name.encode()[:_LONGEST_NAME] for agent in every_agent() if agent.program for name in agent.program.names
        }
        for pid, stat in self.processes.items():
            name = stat.name
            if name in names or name in _INTERPRETERS or name.startswith(b"python"):
                words = proc.words_of(pid, _LONGEST_COMMAND)
                program = recognise(words) if stat.state not in "ZX" else None
                if program is not None and is_mine(pid):
                    self.agents[pid] = (stat, program, words)

    def living(self, agent: str) -> list[proc.Stat]:
        return [stat for stat, program, _ in self.agents.values() if program.name == agent]

    def users(self, traces: Fingerprints) -> list[proc.Stat]:
        """The agent's processes without its daemons: two of those that are left would keep each other for ever."""
        known = ((stat, words) for stat, program, words in self.agents.values() if program.name == traces.agent)
        return [stat for stat, words in known if not traces.is_daemon(words)]

    def top_agents(self) -> Iterator[tuple[proc.Stat, Program, list[str]]]:
        """Agents that are not processes of another process of the same agent: launchers start the program itself below them."""
        for stat, program, words in self.agents.values():
            parent = self.agents.get(stat.parent)
            if parent is None or parent[1] is not program:
                yield stat, program, words

    # -- who is marked

    def marked(self) -> list[MarkedProcess]:
        """The topmost processes that carry an agent's mark and could be orphans; in sessions of ours ours is beside it."""
        found: dict[int, MarkedProcess] = {}
        for stat in self.processes.values():
            if stat.state in "ZX" or stat.pid in self.agents or not self._could_be_left(stat):
                continue
            marks = self._marks(stat.pid)
            top = self._top(stat, marks) if marks else None
            if top is not None and top.pid not in found and not self.is_ours(top):
                found[top.pid] = MarkedProcess(top, self._marks(top.pid))
        return [each for each in found.values() if is_mine(each.stat.pid)]

    def marks_of(self, stat: proc.Stat) -> MarkedProcess | None:
        """A process with its marks, wherever it hangs; None without any."""
        marks = self._marks(stat.pid)
        return MarkedProcess(stat, marks) if marks else None

    def unmarked(self) -> list[proc.Stat]:
        """What was left to another parent, carries no mark, and was spoken to by its starter or is called an MCP server."""
        return [
            stat
            for stat in self.processes.values()
            if stat.state not in "ZX"
            and stat.pid not in self.agents
            and stat.pid not in self._read_marks
            and stat.parent != KERNEL
            and self.orphan(stat)
            and _may_be_a_server(stat.pid)
            and is_mine(stat.pid)
            and not self.is_ours(stat)
            and not self.is_in_a_session(stat)
        ]

    def _could_be_left(self, stat: proc.Stat) -> bool:
        parent = self.processes.get(stat.parent)
        if stat.parent == KERNEL or stat.pid in (1, KERNEL):
            return False
        if stat.parent == 1 or parent is None or parent.state in "ZX" or stat.session == stat.pid:
            return True
        return stat.session != parent.session or parent.name in _REAPERS

    def orphan(self, stat: proc.Stat) -> str:
        """Why it is proven that whoever started it is gone; nothing where it is not."""
        parent = self.processes.get(stat.parent)
        if stat.parent == 1 or parent is None or parent.state in "ZX":
            return "its parent is gone" if stat.pid > 1 else ""
        if parent.name in _REAPERS:
            return f"its parent is gone, and {parent.name.decode(errors='replace')} has taken it over"
        # A process is born into its parent's session and leaves it only to lead one of its own.
        if stat.session not in (stat.pid, parent.session):
            return f"its parent is gone, and process {parent.pid} has taken it over"
        return ""

    def _top(self, stat: proc.Stat, marks: dict[str, str]) -> proc.Stat | None:
        """The topmost that carries the same mark; None below a living agent."""
        top = stat
        for each in self.above(stat):
            if each.pid in self.agents:
                return None
            if not marks.items() & self._marks(each.pid).items():
                break
            top = each
        return top

    @cached_property
    def _names(self) -> tuple[bytes, ...]:
        """What every mark begins with, each once: most environments have none of it, and end the look there."""
        words = {mark.partition("_")[0].encode() for traces in self.traces for mark in traces.marks}
        return tuple(word for word in words if not any(other in word for other in words - {word}))

    @cached_property
    def _read_marks(self) -> dict[int, dict[str, str]]:
        return {}

    def _marks(self, pid: int) -> dict[str, str]:
        """The marks in its environment; none where Lamplighter's own is beside them."""
        if pid in self._read_marks:
            return self._read_marks[pid]
        raw = _environment(pid)
        for name in self._names:
            if name in raw:
                break
        else:
            return {}
        split = (word.partition("=") for word in raw.decode(errors="replace").split("\0"))
        said = {name: value for name, _, value in split}
        marks = (
            {} if MARK in said else {name: said[name] for each in self.traces for name in each.marks if name in said}
        )
        if marks:
            self._read_marks[pid] = marks
            self._note_home(said)
        return marks

    def _note_home(self, said: dict[str, str]) -> None:
        names = [name for each in self.traces for name in each.variables if said.get(name)]
        self.homes.add((said.get("HOME") or self.home, tuple((name, said[name]) for name in names)))

    def place_of(self, stat: proc.Stat, traces: Fingerprints) -> str:
        """Where an agent's process keeps its things."""
        said = proc.variables_of(stat.pid, ("HOME", *traces.variables))
        return next((said[name] for name in reversed(traces.variables) if said.get(name)), said.get("HOME", ""))

    # -- what is on record

    def registry(self) -> dict[str, list[OnRecord]]:
        """What each agent wrote down about its processes: in this user's home, and where the marked ones have theirs."""
        found: dict[str, list[OnRecord]] = {}
        homes = {(self.home, ()), *self.homes}
        for traces in self.traces:
            if traces.registry is not None:
                entries = {entry.path: entry for home, said in homes for entry in traces.registry(home, dict(said))}
                found[traces.agent] = list(entries.values())
        return found

    def lives(self, entry: OnRecord) -> bool:
        stat = self.processes.get(entry.pid)
        return stat is not None and stat.state not in "ZX" and entry.start in (stat.start, None)


def _may_be_a_server(pid: int) -> bool:
    """Whether its input is a pipe or a socket: one system call, where a command line takes three. Or it has none, and is called
    like a server."""
    try:
        input = os.readlink(f"/proc/{pid}/fd/0")
    except FileNotFoundError:
        input = os.devnull
    except OSError:
        return False
    if input == os.devnull:
        return is_called_mcp(" ".join(proc.words_of(pid, _LONGEST_COMMAND)))
    return input.startswith(("pipe:", "socket:"))


def is_called_mcp(command: str) -> bool:
    return bool(_MCP.search(_INSTALLED.sub("", command)))


def _environment(pid: int) -> bytes:
    try:
        descriptor = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _ENVIRONMENT)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def is_mine(pid: int) -> bool:
    """Whether it is wholly this user's, and in the same numbering of processes: what is in a container is that one's business."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            ids = next(line.split()[1:] for line in file if line.startswith(b"Uid:"))
        return {int(each) for each in ids} == {os.getuid()} and _numbering(pid) == _numbering("self")
    except (OSError, StopIteration):
        return False


def _numbering(pid: int | str) -> str:
    return os.readlink(f"/proc/{pid}/ns/pid")
