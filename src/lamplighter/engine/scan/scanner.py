"""What others left on this machine, and which agents nobody manages: the census, judged and grouped by dead session.

Changes nothing, starts nothing, and asks nobody but the kernel and the agents' own files. Blocks, and is for a thread.
The rules are `domain.leak`'s.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from lamplighter.agents.formats.fingerprints import Fingerprints, OnRecord, fingerprints_of
from lamplighter.agents.formats.jsonl import number
from lamplighter.domain.leak import (
    Certainty,
    Cleared,
    Fate,
    Leak,
    Leaked,
    LeakedFile,
    LeakEvidence,
    LeakVerdict,
    Leftover,
    Origin,
    judge,
    name_leak,
)
from lamplighter.engine.observe.process_sampler import weigh
from lamplighter.engine.scan.census import (
    KERNEL,
    MULTIPLEXERS,
    Census,
    Key,
    MarkedProcess,
    is_called_mcp,
    is_mine,
)
from lamplighter.engine.scan.stream_ends import End, Ends
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass

_LATELY_SECONDS = 600.0
_MOST_WEIGHED = 200
_SOCKET, _RECORD = "socket that nobody listens at", "entry of a process that is gone"


@dataclass(frozen=True)
class Unmanaged:
    """A living agent that is in no session of ours. `terminal`: it is at one. `processes` and `memory` are those of its tree."""

    agent: str
    pid: int
    start: int
    command: str
    cwd: str
    since: float
    processes: int
    memory: int
    terminal: bool
    chain: tuple[int, ...]
    """It and its ancestors, by which a pane of tmux is found."""


@dataclass(frozen=True)
class Survey:
    """What one look at the machine found. `seen` is how many processes there were."""

    leaks: list[Leak]
    agents: list[Unmanaged]
    seen: int
    asked: Asked | None = None


@dataclass(frozen=True)
class Asked:
    """One process that somebody asked about: the leak that it is of, if any, and why it is one or is not listed."""

    pid: int
    command: str
    leak: str | None
    certainty: Certainty | None
    why: tuple[str, ...]


def survey(ours: set[Key], home: str, pid: int | None = None) -> Survey:
    """With a pid also why that process is listed, or is not; nothing about it when there is none."""
    return Scanner(ours, home).survey(pid)


class Scanner:
    def __init__(self, ours: set[Key], home: str) -> None:
        self.census = Census(ours, home)
        self.ends = Ends()
        self._entries: dict[str, list[OnRecord]] = {}
        self._split: list[proc.Stat] = []
        self._cleared: dict[int, str] = {}

    def survey(self, pid: int | None) -> Survey:
        self.census.take()
        marked = self.census.marked()
        self._entries = self.census.registry()
        found = [*self._of_marked(marked), *self._of_agents(), *self._of_daemons(), *self._unmarked()]
        leaks = self._grouped(found)
        leaked = {each.key for leak in leaks for each in leak.processes}
        agents = list(self._unmanaged(leaked))
        stat = None if pid is None else self.census.processes.get(pid)
        asked = None if stat is None else self._asked(stat, leaks, agents)
        return Survey(leaks, agents, len(self.census.processes), asked)

    # -- one that somebody asks about

    def _asked(self, stat: proc.Stat, leaks: list[Leak], agents: list[Unmanaged]) -> Asked:
        for leak in leaks:
            found = next((each for each in leak.processes if each.key == stat.key), None)
            if found is not None:
                why = found.why or (f"it is below a process that was left: {leak.processes[0].pid}", *leak.why)
                return Asked(stat.pid, found.command, leak.id, leak.certainty, why)
        why = self._why_not(stat, {each.pid for each in agents})
        return Asked(stat.pid, proc.command_of(stat.pid), None, None, (why,))

    def _why_not(self, stat: proc.Stat, unmanaged: set[int]) -> str:
        """The first of the reasons, in the order in which a scan goes by them."""
        census = self.census
        if stat.state in "ZX":
            return "it has ended, and waits for its parent to take note"
        if stat.parent == KERNEL or not is_mine(stat.pid):
            return "it is not wholly yours: another user's, the kernel's, or in a container"
        if census.is_ours(stat) or census.is_in_a_session(stat):
            return "it is Lamplighter's own, or in a session of Lamplighter: lamp tree"
        if stat.pid in unmanaged:
            return (
                f"it is a living {census.agents[stat.pid][1].name} that nobody manages, and listed as that: lamp adopt"
            )
        if stat.pid in self._cleared:
            return self._cleared[stat.pid]
        for above in census.above(stat):
            if above.pid in census.agents:
                return f"it hangs below a living {census.agents[above.pid][1].name}, process {above.pid}"
            if above.pid in self._cleared:
                return f"it hangs below process {above.pid}, which is not listed: {self._cleared[above.pid]}"
        marks = census.marks_of(stat)
        if marks is not None and (origins := tuple(self._origins(marks))):
            last = judge(self._signs(stat, origins, [fingerprints_of(origin.agent) for origin in origins]))
        else:
            last = self._is_a_persons(census.below(stat)) or judge(self._signs(stat, (), []))
        return last.why if isinstance(last, Cleared) else "it looked like what was left a moment ago, and does not now"

    # -- what was left

    def _of_marked(self, marked: list[MarkedProcess]) -> Iterator[tuple[proc.Stat, LeakVerdict]]:
        for each in marked:
            origins = tuple(self._origins(each))
            if not origins or all(origin.fate is Fate.ALIVE for origin in origins):
                continue
            yield from self._judged(each.stat, origins)

    def _unmarked(self) -> Iterator[tuple[proc.Stat, LeakVerdict]]:
        for stat in self.census.unmarked():
            yield from self._judged(stat, ())

    def _of_agents(self) -> Iterator[tuple[proc.Stat, LeakVerdict]]:
        for stat, program, words in self.census.top_agents():
            if not self.census.is_ours(stat) and self.census.orphan(stat):
                traces = fingerprints_of(program.name)
                daemon = traces.is_daemon(words)
                busy = daemon and self._is_used(stat, traces)
                yield from self._judged(stat, (), agent=program.name, daemon=daemon, busy=busy)

    def _of_daemons(self) -> Iterator[tuple[proc.Stat, LeakVerdict]]:
        """What an agent's daemon runs for conversations that nobody sits at any more: no terminal of that agent, no client."""
        for stat, program, words in self.census.agents.values():
            traces = fingerprints_of(program.name)
            if not traces.is_daemon(words) or self.census.is_ours(stat) or self._has_client(stat, traces):
                continue
            why = f"{program.name}'s daemon {stat.pid} runs it, and no {program.name} is there that could have asked for it"
            for tool in self.census.children.get(stat.pid, ()):
                if tool.session == tool.pid and tool.pid not in self.census.agents:
                    session = traces.in_environment(proc.variables_of(tool.pid, traces.sessions))
                    yield tool, LeakVerdict(Leftover.JOB, Certainty.LIKELY, (why,), program.name, session)

    def _judged(
        self, stat: proc.Stat, origins: tuple[Origin, ...], *, agent: str = "", daemon: bool = False, busy: bool = False
    ) -> Iterator[tuple[proc.Stat, LeakVerdict]]:
        """The topmost, and those below it that may have been left on purpose: each by itself."""
        tree = self.census.below(stat)
        mine = [fingerprints_of(origin.agent) for origin in origins]
        cleared = self._is_a_persons(tree)
        judgement = cleared or judge(self._signs(stat, origins, mine, agent=agent, daemon=daemon, busy=busy))
        if isinstance(judgement, Cleared):
            self._cleared[stat.pid] = judgement.why
            return
        yield stat, judgement
        if judgement.certainty is Certainty.CERTAIN and judgement.kind in (Leftover.TOOL_SHELL, Leftover.JOB):
            for each in tree[1:]:
                if self._is_on_purpose(each, mine):
                    self._split.append(each)
                    aside = judge(self._signs(each, origins, mine, orphan=self.census.orphan(stat)))
                    if isinstance(aside, LeakVerdict):
                        yield each, aside

    def _is_on_purpose(self, stat: proc.Stat, traces: list[Fingerprints]) -> bool:
        """Whether a person may use it: it waits for clients, its output goes to a file of its own, or it writes to one."""
        ends = (self.ends.of(stat.pid, number) for number in (1, 2))
        kept = any(end is End.FILE and not _is_an_agents(link, traces) for end, link in ends)
        return kept or self.ends.serves(stat.pid) or any(self._written(stat, traces))

    def _signs(
        self,
        stat: proc.Stat,
        origins: tuple[Origin, ...],
        mine: list[Fingerprints],
        *,
        orphan: str | None = None,
        agent: str = "",
        daemon: bool = False,
        busy: bool = False,
    ) -> LeakEvidence:
        command, mute = " ".join(proc.words_of(stat.pid, 8192)), self._end(stat, 0) is End.DEAD
        return LeakEvidence(
            origins=origins,
            orphan=self.census.orphan(stat) if orphan is None else orphan,
            mute=mute,
            held=self._end(stat, 0) in (End.OPEN, End.TERMINAL),
            unheard=self._is_unheard(stat, mine),
            quiet=self._end(stat, 1) is End.NOTHING,
            heard=self._end(stat, 1) in (End.OPEN, End.TERMINAL),
            cut_off=all(self._end(stat, number) is End.DEAD for number in range(3)),
            logged=self._end(stat, 2) is End.FILE and not _is_an_agents(self.ends.of(stat.pid, 2)[1], mine),
            # A server's writing may be done by what it started; what a job started is judged by itself.
            writes=next(
                (path for each in (self.census.below(stat) if mute else [stat]) for path in self._written(each, mine)),
                "",
            ),
            mcp=is_called_mcp(command),
            shell=any(traces.shell is not None and traces.shell.search(command) for traces in mine),
            agent=agent,
            alike=bool(agent) and self._is_alike(stat),
            daemon=daemon,
            serves=self.ends.serves(stat.pid),
            busy=busy,
        )

    def _written(self, stat: proc.Stat, traces: list[Fingerprints]) -> Iterator[str]:
        return (path for path in self.ends.written(stat.pid, _LATELY_SECONDS) if not _is_an_agents(path, traces))

    def _is_alike(self, stat: proc.Stat) -> bool:
        known = self.census.agents.get(stat.pid)
        return known is not None and known[1].is_alike(known[2])

    def _is_a_persons(self, tree: list[proc.Stat]) -> Cleared | None:
        """What is at a terminal that lives, holds terminals of others, shows a window, or has an agent at work below it."""
        for stat in tree:
            who = "it" if stat is tree[0] else f"process {stat.pid} below it"
            if stat.name in MULTIPLEXERS:
                return Cleared(f"{who} is a terminal multiplexer")
            if stat.terminal and self.ends.is_at_a_terminal(stat.pid):
                return Cleared(f"{who} is at a terminal")
            if self.ends.has_window(stat.pid):
                return Cleared(f"{who} has a window")
        agent = next((stat for stat in tree[1:] if stat.pid in self.census.agents), None)
        if agent is not None and tree[0].pid not in self.census.agents:
            return Cleared(f"an agent, process {agent.pid}, is at work below it")
        return None

    def _end(self, stat: proc.Stat, number: int) -> End:
        return self.ends.of(stat.pid, number)[0]

    def _is_unheard(self, stat: proc.Stat, traces: list[Fingerprints]) -> bool:
        said, link = self.ends.of(stat.pid, 1)
        wrong, complaint = self.ends.of(stat.pid, 2)
        if wrong in (End.OPEN, End.TERMINAL):
            return False
        if wrong is End.FILE and said is not End.DEAD and not _is_an_agents(complaint, traces):
            return False
        return said is End.DEAD or (said is End.FILE and _is_an_agents(link, traces))

    # -- where it came from

    def _origins(self, marked: MarkedProcess) -> Iterator[Origin]:
        for traces in self.census.traces:
            said = {name: marked.marks[name] for name in traces.marks if name in marked.marks}
            if said:
                yield self._origin(traces, marked.stat, said)

    def _origin(self, traces: Fingerprints, stat: proc.Stat, said: dict[str, str]) -> Origin:
        """By the most exact of its marks: the agent's process, the session's entry in the registry, its age."""
        session = next((said[name] for name in traces.sessions if name in said), None)
        for name in traces.pids:
            if (pid := number(said.get(name, ""))) is not None:
                fate, why = self._fate_of_process(traces.agent, pid, stat, name)
                if fate is not Fate.UNSURE:
                    return Origin(traces.agent, session or f"of process {said[name]}", fate, why)
        entries = [entry for entry in self._entries.get(traces.agent, ()) if session and entry.session == session]
        # A younger one has resumed the session: what it found there was left by the one before.
        if any(self.census.lives(entry) and (entry.start or 0) <= stat.start for entry in entries):
            return Origin(traces.agent, session, Fate.ALIVE, "")
        gone = next((entry for entry in entries if not self.census.lives(entry)), None)
        if gone is not None:
            name = os.path.basename(gone.path)
            why = f"{traces.agent} {gone.pid}, which was in its session, is gone ({name})"
            why = why if gone.pid else f"no {traces.agent} has its session open any more ({name})"
            return Origin(traces.agent, session, Fate.DEAD, why)
        if not any(each.start <= stat.start for each in self.census.living(traces.agent)):
            why = f"it came from {traces.agent}, and none that runs now is older than it"
            return Origin(traces.agent, session, Fate.DEAD, why)
        why = f"no {traces.agent} that runs is known to be {'in its session' if session else 'its own'}"
        return Origin(traces.agent, session, Fate.UNSURE, why)

    def _fate_of_process(self, agent: str, pid: int, stat: proc.Stat, mark: str) -> tuple[Fate, str]:
        found = self.census.processes.get(pid)
        if found is None or found.state in "ZX" or found.start > stat.start:
            return Fate.DEAD, f"{agent} {pid}, which it came from, is gone ({mark})"
        known = self.census.agents.get(pid)
        return (Fate.ALIVE if known is not None and known[1].name == agent else Fate.UNSURE), ""

    def _is_used(self, daemon: proc.Stat, traces: Fingerprints) -> bool:
        """Whether a daemon of an agent has somebody to serve or something to do: the agent itself, a client, a tool."""
        tools = any(stat.session == stat.pid for stat in self.census.below(daemon)[1:])
        return tools or self._has_client(daemon, traces)

    def _has_client(self, daemon: proc.Stat, traces: Fingerprints) -> bool:
        tree = self.census.below(daemon)
        others = [stat for stat in self.census.users(traces) if stat not in tree]
        place = self.census.place_of(daemon, traces)
        near = any(self.census.place_of(stat, traces) == place for stat in others)
        return near or self.ends.is_connected(daemon.pid)

    # -- together

    def _grouped(self, found: list[tuple[proc.Stat, LeakVerdict]]) -> list[Leak]:
        taken: set[Key] = set()
        groups: dict[tuple[str, str, Certainty], list[tuple[proc.Stat, LeakVerdict]]] = {}
        for stat, judgement in found:
            name = judgement.session or f"{stat.pid}@{stat.start}"
            groups.setdefault((judgement.agent, name, judgement.certainty), []).append((stat, judgement))
        stale = self._stale_files()
        leaks = [self._leak(members, taken, stale) for members in groups.values()]
        leaks += [_of_files(agent, session, files) for (agent, session), files in stale.items()]
        return sorted((leak for leak in leaks if leak.processes or leak.files), key=_order)

    def _leak(
        self,
        members: list[tuple[proc.Stat, LeakVerdict]],
        taken: set[Key],
        stale: dict[tuple[str, str], list[LeakedFile]],
    ) -> Leak:
        first = members[0][1]
        processes: list[Leaked] = []
        tops = [stat for stat, _ in members]
        for top, judgement in members:
            for stat in self.census.below(top, self._split):
                if stat.key not in taken:
                    taken.add(stat.key)
                    processes.append(_leaked(stat, judgement if stat is top else None, len(taken)))
        sure = first.certainty is Certainty.CERTAIN
        files = stale.pop((first.agent, first.session or ""), []) if sure else []
        identifier = name_leak(first.agent, first.session, first.certainty, (stat.key for stat, _ in members))
        why = tuple(dict.fromkeys(reason for _, judgement in members for reason in judgement.why))
        below = {stat.key for top, _ in members for stat in self.census.below(top)}
        spared = tuple(sorted(stat.key for stat in self._split if stat.key in below and stat not in tops))
        return Leak(
            identifier, first.agent, first.session, first.certainty, why, tuple(processes), tuple(files), spared
        )

    def _stale_files(self) -> dict[tuple[str, str], list[LeakedFile]]:
        """Entries of processes that are gone, with what is beside them; by agent and session."""
        found: dict[tuple[str, str], list[LeakedFile]] = {}
        for agent, entries in self._entries.items():
            for entry in entries:
                if entry.start is not None and not self.census.lives(entry):
                    found.setdefault((agent, entry.session), []).extend(self._files(entry))
        return found

    def _files(self, entry: OnRecord) -> Iterator[LeakedFile]:
        """The entry itself last: while it is there, what is beside it can still be found."""
        for path in (*entry.beside, entry.path):
            with suppress(OSError, ValueError):
                found = os.lstat(path)
                if found.st_uid == os.getuid() and os.fsencode(path) not in self.ends.bound:
                    what = _SOCKET if path.endswith(".sock") else _RECORD
                    yield LeakedFile(path, entry.pid, entry.start, what, found.st_mtime_ns)

    # -- who is alive

    def _unmanaged(self, leaked: set[Key]) -> Iterator[Unmanaged]:
        for stat, program, words in self.census.top_agents():
            if stat.key in leaked or self.census.is_ours(stat) or self.census.is_in_a_session(stat):
                continue
            tree = self.census.below(stat)
            yield Unmanaged(
                agent=program.name,
                pid=stat.pid,
                start=stat.start,
                command=" ".join(words)[:200],
                cwd=_cwd(stat.pid),
                since=proc.start_moment(stat.start),
                processes=len(tree),
                memory=sum(each.memory for each in tree),
                terminal=bool(stat.terminal),
                chain=(stat.pid, *(each.pid for each in self.census.above(stat))),
            )


def _is_an_agents(path: str, traces: list[Fingerprints]) -> bool:
    return any(each.output is not None and each.output.search(path.removesuffix(" (deleted)")) for each in traces)


def _leaked(stat: proc.Stat, judgement: LeakVerdict | None, weighed: int) -> Leaked:
    return Leaked(
        pid=stat.pid,
        start=stat.start,
        kind=judgement.kind if judgement else Leftover.CHILD,
        command=proc.command_of(stat.pid),
        since=round(proc.start_moment(stat.start), 2),
        memory=weigh([stat]) if weighed <= _MOST_WEIGHED else stat.memory,
        why=judgement.why if judgement else (),
    )


def _of_files(agent: str, session: str, files: list[LeakedFile]) -> Leak:
    identifier = name_leak(agent, session, Certainty.CERTAIN, ())
    return Leak(
        identifier, agent, session, Certainty.CERTAIN, ("the process that wrote them is gone",), (), tuple(files)
    )


def _order(leak: Leak) -> tuple[bool, bool, int]:
    return leak.certainty is not Certainty.CERTAIN, not leak.processes, -leak.memory


def _cwd(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
