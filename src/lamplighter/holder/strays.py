"""Whose are the processes that a lost shim left to the keeper? Told by cgroup, mark, terminal, or by who was lost just then.

What cannot be told belongs to several until all but one of those sessions are gone. Standard library only.
"""

from __future__ import annotations

import os

from lamplighter.holder import proc
from lamplighter.holder.cgroup import own_path
from lamplighter.holder.daemonkeeper import DaemonKeeper
from lamplighter.holder.exempt import is_server
from lamplighter.holder.files import read_json
from lamplighter.holder.marks import MARK
from lamplighter.holder.shim_factory import ShimFactory
from lamplighter.holder.zygote import SPARE, TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Strays:
    def __init__(self, shim_factory: ShimFactory, daemon: DaemonKeeper) -> None:
        self.shim_factory = shim_factory
        self.daemon = daemon
        self.known: dict[tuple[int, int], set[str]] = {}

    def attribute(self, lost: list[str]) -> None:
        """Shims of these sessions have just died: whatever is new among the keeper's children is theirs."""
        processes = proc.scan()
        shims = {held.shim for held in self.shim_factory.held.values()}
        for stat in processes.values():
            new = stat.parent == os.getpid() and stat.key not in self.known and stat.pid not in shims
            if new and stat.pid not in (self.daemon.pid, self.shim_factory.template.pid) and not _is_spare(stat):
                server = is_server(stat)
                owner = self._owner(stat, lost, certain=server)
                # A tmux server that bears no sign of them serves the user, or was spared by a session that is over.
                if owner or not server:
                    self.known[stat.key] = owner or set(lost)

    def of(self, session: str) -> set[tuple[int, int]]:
        """The session's strays; one that several may own only when the others are gone."""
        lost = [held.session for held in self.shim_factory.held.values() if held.lost]
        if lost:
            self.attribute(lost)
        living = set(self.shim_factory.held)
        return {key for key, owners in self.known.items() if session in owners and not (owners - {session}) & living}

    def whose(self, pid: int, start: int) -> set[str]:
        lost = [held.session for held in self.shim_factory.held.values() if held.lost]
        self.attribute(lost)
        return self.known.get((pid, start), set(lost))

    def reaped(self, pid: int) -> set[str]:
        """It is dead and waited for: the sessions that it may have been of."""
        for key in [key for key in self.known if key[0] == pid]:
            return self.known.pop(key)
        return set()

    def saved(self) -> list[Any]:
        return [[list(key), sorted(owners)] for key, owners in self.known.items()]

    def restore(self, saved: list[Any]) -> None:
        self.known = {tuple(key): set(owners) for key, owners in saved}  # type: ignore[misc]

    def _owner(self, stat: proc.Stat, lost: list[str], *, certain: bool) -> set[str] | None:
        if len(lost) == 1 and not certain:
            return {lost[0]}
        path = own_path(stat.pid) or ""
        mark = proc.environment_of(stat.pid, MARK)
        for session in lost:
            held = self.shim_factory.held.get(session)
            birth = read_json(f"{held.spec['folder']}/birth.json") if held else None
            main = tuple((birth or {}).get("main") or ())
            if (
                path.endswith(f"/{session}")
                or mark == session
                or (main and (stat.key == main or stat.session == main[0]))
            ):
                return {session}
        return None


def _is_spare(stat: proc.Stat) -> bool:
    """Forked ahead to be a shim: by its name, which anything may take, and the keeper's own command line, which nothing does.
    It has the template's name before it has its own."""
    return stat.name in (SPARE.encode(), TEMPLATE.encode()) and proc.words_of(stat.pid) == proc.words_of(os.getpid())
