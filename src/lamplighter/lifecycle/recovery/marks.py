"""Processes that are of a session by their mark alone: its holder, the keeper and the session's folder are gone.

A mark says which session; that it is one of this home is said by a second mark, or by the cgroup. Knows /proc; what becomes of
what is found is `enrolment`'s.
"""

from __future__ import annotations

import os

from lamplighter.holder import proc
from lamplighter.holder.credentials import is_in_cgroup
from lamplighter.holder.tree import HOME_MARK, MARK
from lamplighter.home import Home

_HOLDER = "/lamplighter/holder/start.py"


def find_marked(home: Home) -> dict[str, list[proc.Stat]]:
    """By session, the oldest first: living ones of this user that no holder, of this home or another, is above."""
    found: dict[str, list[proc.Stat]] = {}
    for stat in sorted(proc.scan().values(), key=lambda each: (each.start, each.pid)):
        said = proc.variables_of(stat.pid, (MARK, HOME_MARK)) if stat.state not in "ZX" else {}
        if MARK in said and _is_of(home, stat.pid, said.get(HOME_MARK)) and not _is_held(stat.pid):
            found.setdefault(said[MARK], []).append(stat)
    return found


def _is_of(home: Home, pid: int, state: str | None) -> bool:
    own = state == home.state if state is not None else is_in_cgroup(home.run, pid)
    return own and pid != os.getpid() and proc.user_of(pid) == os.getuid()


def _is_held(pid: int) -> bool:
    return any(any(word.endswith(_HOLDER) for word in proc.words_of(stat.pid)) for stat in proc.ancestors(pid))
