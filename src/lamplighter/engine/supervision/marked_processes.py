"""Processes that are of a session by their mark alone: the keeper and the session's folder are gone, and perhaps its shim.

A mark says which session; that it is one of this home is said by a second mark, or by the cgroup. Knows /proc; what becomes of
what is found is `enrolment`'s.
"""

from __future__ import annotations

import os
from dataclasses import field

from lamplighter.holder import proc
from lamplighter.holder.credentials import is_in_cgroup
from lamplighter.holder.marks import HOME_MARK, MARK, nearest_holder
from lamplighter.home import Home
from lamplighter.lazy_dataclass import dataclass

_SHIM = b"lamp-shim"


@dataclass(frozen=True)
class MarkedSession:
    """A session's processes, the oldest first, and its shim, when that lives."""

    processes: list[proc.Stat] = field(default_factory=list[proc.Stat])
    shims: list[proc.Stat] = field(default_factory=list[proc.Stat])

    @property
    def shim(self) -> proc.Stat | None:
        return self.shims[0] if self.shims else None

    @property
    def main(self) -> proc.Stat:
        """Its command's process: the shim's child, where there is a shim."""
        children = (stat for stat in self.processes if self.shim is not None and stat.parent == self.shim.pid)
        return next(children, self.processes[0])


def find_marked(home: Home) -> dict[str, MarkedSession]:
    """By session: living ones of this user that no holder of another home is above."""
    found: dict[str, MarkedSession] = {}
    for stat in sorted(proc.scan().values(), key=lambda each: (each.start, each.pid)):
        said = proc.variables_of(stat.pid, (MARK, HOME_MARK)) if stat.state not in "ZX" else {}
        if MARK not in said or not _is_of(home, stat.pid, said.get(HOME_MARK)):
            continue
        holder = nearest_holder(stat.pid)
        if holder is None or (holder.name == _SHIM and home.state in proc.words_of(holder.pid)):
            marked = found.setdefault(said[MARK], MarkedSession())
            marked.processes.append(stat)
            marked.shims.extend([holder] if holder is not None else [])
    return found


def _is_of(home: Home, pid: int, state: str | None) -> bool:
    own = state == home.state if state is not None else is_in_cgroup(home.run, pid)
    return own and pid != os.getpid() and proc.user_of(pid) == os.getuid()
