"""Processes that were there before us, as /proc shows them: which of them are one agent, and what is known of it.

An agent's launcher and the program that it starts, or itself started anew, are one: an unbroken line of processes of the same
program. Knows agents and /proc; knows no session.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lamplighter.agents import GENERIC, recognise
from lamplighter.agents.formats.fingerprints import fingerprints_of
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.transcript import variables
from lamplighter.domain.session import Kind
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass

_PTS_MAJOR = 136


@dataclass(frozen=True)
class AdoptedGroup:
    """`processes` are its own, the topmost first; what they start is found below them. `below` is the process that it was found
    from, one of those that it started, if it was found so."""

    agent: str
    processes: tuple[proc.Stat, ...]
    below: proc.Stat | None = None

    @property
    def keys(self) -> set[tuple[int, int]]:
        return {stat.key for stat in self.processes}

    @property
    def main(self) -> proc.Stat:
        return self.processes[0]

    @property
    def last(self) -> proc.Stat:
        """The program itself, where the others only launched it."""
        return self.processes[-1]

    def is_there(self) -> bool:
        """Whether all of what was read of it was its own: a pid may have been given to another meanwhile."""
        return all(proc.is_alive(*key) for key in self.keys)

    def is_own(self) -> bool:
        """Whether it is of the user who runs us."""
        return all(proc.user_of(stat.pid) == os.getuid() for stat in self.processes)

    def command(self) -> tuple[str, ...]:
        return tuple(proc.words_of(self.main.pid)) or (proc.name_of(self.main.pid) or "?",)

    def folder(self) -> str:
        return proc.folder_of(self.last.pid) or "/"

    def places(self) -> dict[str, str]:
        """Where it keeps its transcripts."""
        return proc.variables_of(self.last.pid, variables())

    def terminal(self) -> str | None:
        """The terminal that it is at."""
        number = self.last.terminal or self.main.terminal
        if not number:
            return None
        return f"/dev/pts/{os.minor(number)}" if os.major(number) == _PTS_MAJOR else f"terminal {number}"

    def conversation(self) -> str | None:
        """By what it gave to what it started, else by its command line. Not by its own environment: that says what whoever
        started it was in."""
        traces = fingerprints_of(self.agent)
        told = proc.variables_of(self.below.pid, traces.sessions) if self.below and traces.sessions else {}
        known = (traces.in_command(proc.words_of(stat.pid)) for stat in self.processes)
        return traces.in_environment(told) or next((found for found in known if found), None)

    def kind(self) -> Kind:
        """A person's, when it is at a terminal; an agent's own daemon serves many conversations, and is nobody's to end but the
        operator's."""
        traces = fingerprints_of(self.agent)
        if any(traces.is_daemon(proc.words_of(stat.pid)) for stat in self.processes):
            return Kind.SYSTEM
        return Kind.MAIN if self.terminal() else Kind.TASK

    def outer_sessions(self) -> list[int]:
        """Ids of sessions, as the kernel has them, that it is in and does not lead: its terminal's shell is in them too."""
        return sorted({stat.session for stat in self.processes if stat.session != stat.pid})


def agents_among(chain: Sequence[proc.Stat]) -> list[AdoptedGroup]:
    """The agents among a process and its ancestors, the nearest first."""
    found: list[AdoptedGroup] = []
    line: list[proc.Stat] = []
    program: Program | None = None
    below: proc.Stat | None = None
    for place, stat in enumerate(chain):
        here = recognise(proc.words_of(stat.pid, 8192))
        if program is not None and here is not program:
            found.append(AdoptedGroup(program.name, tuple(reversed(line)), below))
            line = []
        if here is not None:
            below = below if line else (chain[place - 1] if place else None)
            line.append(stat)
        program = here
    if program is not None:
        found.append(AdoptedGroup(program.name, tuple(reversed(line)), below))
    return found


def group_of(keys: Iterable[tuple[int, int]], agent: str = GENERIC) -> AdoptedGroup | None:
    """These processes as one, those of them that live; the oldest stands for all. None when none does."""
    found = (
        stat for pid, start in keys if (stat := proc.read_stat(pid)) and stat.start == start and stat.state not in "ZX"
    )
    living = sorted(found, key=lambda stat: (stat.start, stat.pid))
    return AdoptedGroup(agent, tuple(living)) if living else None


def stranger_of(pid: int) -> AdoptedGroup | None:
    """Whatever has this pid, with the rest of its agent if it is one; None when there is nothing."""
    chain = proc.ancestors(pid)
    if not chain or chain[0].state in "ZX":
        return None
    program = recognise(proc.words_of(pid, 8192))
    if program is None:
        return AdoptedGroup(GENERIC, (chain[0],))
    return AdoptedGroup(program.name, agents_among(chain)[0].processes)
