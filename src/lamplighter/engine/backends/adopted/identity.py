"""What a session without a holder is known by, and its processes found by that: ancestry, terminal, session id, environment.

Knows tmux's panes, agents' marks and /proc; knows nothing of the store. Nothing here acts on a pid without its start time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection
from dataclasses import field

from lamplighter.agents import recognise
from lamplighter.agents.formats.shared_daemon import servers
from lamplighter.engine.backends.base import Key
from lamplighter.engine.backends.tmux.server import Pane
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK, bears_mark
from lamplighter.holder.tree import Tree
from lamplighter.lazy_dataclass import dataclass

_MULTIPLEXER = b"tmux: server\n"
_MOST = 200


@dataclass
class SessionIdentity:
    """`roots` are processes that are its own; `leaders` the panes' own ones, start by pid; `panes` every pane that it had.

    `server` is the tmux server's process, with its `socket`; `mark` the session of ours that this server was started in, if
    any; `number` the tmux session's on it; `foreign` are panes of other sessions; `present` says that tmux has it. Outside
    tmux `leaders` are the processes that it began with; `strays` were seen below them; `outer` are sessions, as the kernel has
    them, that it began in and others are in too; `marks` are variables with the values that only what it started has.
    """

    session: str
    roots: set[Key] = field(default_factory=set[Key])
    leaders: dict[int, int] = field(default_factory=dict[int, int])
    present: bool = False
    server: Key | None = None
    socket: str = ""
    mark: str | None = None
    number: str = ""
    panes: set[str] = field(default_factory=set[str])
    foreign: set[str] = field(default_factory=set[str])
    foreign_roots: set[Key] = field(default_factory=set[Key])
    strays: set[Key] = field(default_factory=set[Key])
    outer: set[int] = field(default_factory=set[int])
    marks: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def follow(self, panes: list[Pane], held: set[str]) -> list[Pane]:
        """Take in what its server shows now: the panes that are its own. `held` are those of other sessions of ours.

        A window that a session outside its group shows too is that one's as well, so it is not ours to end.
        """
        if not self._is_server(panes):
            self.present = False
            return []
        mine = [pane for pane in panes if pane.session_id == f"${self.number}"]
        self.present = bool(mine)
        group = mine[0].group if mine else ""
        others = [
            pane for pane in panes if pane.session_id != f"${self.number}" and not (group and pane.group == group)
        ]
        foreign = {pane.id for pane in others} | held
        mine = [pane for pane in mine if pane.id not in foreign]
        self.foreign = (self.foreign | foreign) - {pane.id for pane in mine}
        known = {pid for pid, _ in self.roots} | self.leaders.keys()
        away = {key for pane in panes if pane.id in foreign and pane.pid in known and (key := self._process(pane))}
        self.panes = (self.panes | {pane.id for pane in mine}) - foreign
        living = {key for pane in mine if (key := self._process(pane))}
        self.foreign_roots = (self.foreign_roots | away) - living
        self.leaders = dict((self.leaders.items() | living) - self.foreign_roots)
        self.roots = (self.roots | living) - self.foreign_roots
        self._forget_the_dead()
        return mine

    def _forget_the_dead(self) -> None:
        """Windows come and go for weeks."""
        if len(self.roots) > _MOST:
            self.roots = {key for key in self.roots if proc.is_alive(*key)}
        if len(self.leaders) > _MOST:
            self.leaders = dict(key for key in self.leaders.items() if proc.is_alive(*key))

    def _is_server(self, panes: list[Pane]) -> bool:
        """A server that was started again counts its sessions and panes from 0 again: they say nothing of the ones we know."""
        return (
            self.server is not None
            and all(pane.server == self.server[0] for pane in panes)
            and proc.is_alive(*self.server)
        )

    def _process(self, pane: Pane) -> Key | None:
        """The pane's process. A pid that is not a child of the server was given to somebody else meanwhile."""
        stat = proc.read_stat(pane.pid) if not pane.dead else None
        return stat.key if stat is not None and stat.parent == pane.server and stat.state not in "ZX" else None

    def document(self) -> dict[str, list[object]]:
        return {
            "roots": [list(key) for key in sorted(self.roots)],
            "leaders": [list(key) for key in sorted(self.leaders.items())],
            "panes": [*sorted(self.panes)],
            "foreign": [*sorted(self.foreign)],
            "marks": [list(mark) for mark in sorted(self.marks)],
        }


class TracedTree(Tree):
    """The processes on a trail. `ours` names the keeper and the shims: they and all below them are never in it, and neither
    are other tmux sessions, nor any tmux server, as what a server holds may be anybody's. `shared` are marks that say nothing."""

    def __init__(
        self,
        trail: SessionIdentity,
        ours: Callable[[], set[int]],
        shared: Collection[tuple[str, str]] = frozenset(),
        *,
        state: str = "",
    ) -> None:
        super().__init__(trail.session, None, state=state)
        self.adopted = True
        self.shared = servers()
        self.trail = trail
        self.ours = ours
        self._marks = trail.marks - set(shared)
        self.multiplexers: set[Key] = set()
        self._leading: dict[int, proc.Stat] = {}
        self._terminals: set[int] = set()
        self._sessions: set[int] = set()

    def _followed(self, processes: dict[int, proc.Stat]) -> dict[int, proc.Stat]:
        server = {self.trail.server[0]} if self.trail.server else set[int]()
        self._meet(processes)
        while True:
            known = self.roots | self.trail.roots | self.trail.strays
            self.roots = known - self.trail.foreign_roots - self.multiplexers
            strangers = {pid for pid, _ in self.trail.foreign_roots | self.multiplexers}
            # Kept from look to look: a look may pass over strangers, and then their children would seem to be nobody's.
            seeds = self.ours() | strangers | server | {os.getpid()} | self.infrastructure
            self.infrastructure = _closure(processes, seeds, server)
            found = super()._followed(processes)
            more = {stat.key for stat in found.values() if _is_multiplexer(stat.pid)} - self.multiplexers
            if not more:
                return {pid: stat for pid, stat in found.items() if stat.key not in self.multiplexers}
            self.multiplexers |= more
            below = _closure(processes, {pid for pid, _ in more}, set())
            self.roots = {key for key in self.roots if key[0] not in below}

    def _meet(self, processes: dict[int, proc.Stat]) -> None:
        """The panes' processes that lead their terminals now. Terminals and session ids are given to others once they are free,
        so they say something only while their leader lives. The newest are read first: it outlived whoever is taken for its."""
        at = ((processes.get(pid), start) for pid, start in self.trail.leaders.items())
        alive = [stat for stat, start in at if stat and stat.start == start and stat.state not in "ZX"]
        if self.trail.server is None:
            # Not in a pane of its own: its terminal may be a shell's, which it did not start.
            alive = [stat for stat in alive if stat.session == stat.pid]
            self._sessions = self._own_sessions(processes)
        self._leading = {stat.pid: stat for stat in alive if stat.key not in self.trail.foreign_roots}
        self._terminals = {stat.terminal for stat in self._leading.values() if stat.terminal}

    def _own_sessions(self, processes: dict[int, proc.Stat]) -> set[int]:
        """The sessions, as the kernel has them, that known processes are in now. Nobody enters one but by being born in it, and
        its number is not given to another while somebody is in it."""
        known = (self.roots | self.trail.roots | self.trail.strays) - self.multiplexers
        return {stat.session for stat in processes.values() if stat.key in known} - self.trail.outer

    def signal(self, number: int, members: dict[int, proc.Stat]) -> None:
        """A pane's own process is never stopped: tmux would wake it at once, and its whole group with it."""
        if number == signal.SIGSTOP:
            members = {pid: stat for pid, stat in members.items() if not self._is_tmuxs(stat)}
        super().signal(number, members)

    def _beyond(self, stat: proc.Stat) -> bool:
        return self._is_tmuxs(stat) or super()._beyond(stat)

    def _is_tmuxs(self, stat: proc.Stat) -> bool:
        return self.trail.server is not None and stat.parent == self.trail.server[0]

    def _bears_a_sign(self, stat: proc.Stat) -> bool:
        if stat.pid in self.infrastructure:
            return False
        return stat.terminal in self._terminals or self._is_led(stat) or self._is_marked(stat)

    def _is_led(self, stat: proc.Stat) -> bool:
        leader = self._leading.get(stat.session)
        return stat.session in self._sessions or (leader is not None and stat.start >= leader.start)

    def _is_marked(self, stat: proc.Stat) -> bool:
        names = ("TMUX", "TMUX_PANE") if self.trail.server else tuple({name for name, _ in self._marks})
        found = proc.variables_of(stat.pid, (MARK, *names))
        mark, server = found.get(MARK), self.trail.server
        if mark == self.session:
            return bears_mark(stat.pid, self.session, self.state)
        if server is None:
            return mark is None and not self._marks.isdisjoint(found.items()) and self._started_here(stat)
        socket, pid, number = (["", "", "", *found.get("TMUX", "").rsplit(",", 2)])[-3:]
        if pid != str(server[0]) or os.path.realpath(socket) != self.trail.socket:
            return False
        if stat.start < server[1] or proc.start_of(server[0]) not in (server[1], None):
            return False  # of another server, that had or has this pid
        if mark is not None and mark != self.trail.mark:
            return False  # another session's, started from one of its panes
        pane = found.get("TMUX_PANE", "")
        return pane not in self.trail.foreign and (pane in self.trail.panes or number == self.trail.number)

    def _started_here(self, stat: proc.Stat) -> bool:
        """Not older than what it would be of, and not below another agent: one that goes on with the same conversation gives the
        same marks to what it starts."""
        begun = min(start for _, start in self.trail.leaders.items())
        above = [one for one in proc.ancestors(stat.pid) if one.key not in self.trail.leaders.items()]
        return stat.start >= begun and not any(recognise(proc.words_of(one.pid, 8192)) for one in above)


def _is_multiplexer(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read() == _MULTIPLEXER
    except OSError:
        return False


def _closure(processes: dict[int, proc.Stat], seeds: set[int], but_not_below: set[int]) -> set[int]:
    """The seeds and all below them; below a server each pane is told apart by itself."""
    children: dict[int, list[int]] = {}
    for pid, stat in processes.items():
        children.setdefault(stat.parent, []).append(pid)
    found = set(seeds)
    todo = [pid for pid in seeds if pid not in but_not_below]
    while todo:
        for pid in children.get(todo.pop(), ()):
            if pid not in found:
                found.add(pid)
                if pid not in but_not_below:
                    todo.append(pid)
    return found
