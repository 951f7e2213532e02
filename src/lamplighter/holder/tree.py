"""Everything that a session started: found, signalled, frozen, killed, and proven gone.

Two lineages: under a shim that is the subreaper of the tree, `waitpid` answering ECHILD is the proof. Under a shim that took
over from a lost one there is no such word, so the roots that the keeper names, the cgroup and the marks are followed as far
as they go. Standard library only.
"""

from __future__ import annotations

import os
import signal
import time

from lamplighter.holder import lineage, proc
from lamplighter.holder.cgroup import Cgroup
from lamplighter.holder.exempt import SPARED, UNSURE, documents, find_spared, is_server
from lamplighter.holder.marks import MARK, bears_mark
from lamplighter.holder.shared_servers import SERVES, may_serve, serves_outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_FREEZE_SECONDS = 15.0
_STOP_SECONDS = 0.001
_MOST_CHASES = 200
_MOST_MOVES = 50


class Death:
    """One process on its way out, as the certificate tells of it. `found`: how, when it was not in the tree any more."""

    __slots__ = ("command", "exit", "found", "gone_at", "key", "seen_at", "signal", "why")

    def __init__(self, key: tuple[int, int], command: str, now: float) -> None:
        self.key = key
        self.command = command
        self.seen_at = now
        self.signal: str | None = None
        self.gone_at: float | None = None
        self.exit: dict[str, Any] | None = None
        self.why = ""
        self.found = ""

    def document(self, began: float) -> dict[str, Any]:
        pid, start = self.key
        document: dict[str, Any] = {
            "pid": pid,
            "started": _iso(proc.start_moment(start)),
            "start_ticks": start,
            "command": self.command,
            "signal": self.signal,
            "seconds": max(0.0, round((self.gone_at or time.monotonic()) - began, 6)),  # it may have gone before
        }
        if self.exit is not None and "code" in self.exit:
            document["code"] = self.exit["code"]
        if self.why:
            document["why"] = self.why
        if self.found:
            document["found"] = self.found
        return document


def _iso(moment: float) -> str:
    whole, part = divmod(round(moment * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{part:03d}Z"


def _why_it_is_there(stat: proc.Stat) -> str:
    tracer = proc.tracer_of(stat.pid)
    if stat.state in "ZX" and tracer:
        return f"dead, but process {tracer} ({proc.command_of(tracer, 60)}) traces it and has not let it go"
    return "stuck in the kernel" if stat.state == "D" else "did not die of KILL yet"


class Tree:
    """The processes of one session. `infrastructure` are ours and never in it: a keeper that this shim had to start. Nor are
    the `spared`, which are others': each with its command and the reason."""

    def __init__(
        self, session: str, cgroup: Cgroup | None, terminal: Callable[[], int] = int, *, state: str = ""
    ) -> None:
        """`terminal` numbers the session's as /proc does, while it is held open: the next that is opened may have the same.
        `state` is the home of one that is followed by its marks."""
        self.session = session
        self.state = state
        self.cgroup = cgroup
        self._terminal = terminal
        self.infrastructure: set[int] = set()
        self.spared: dict[tuple[int, int], tuple[str, str]] = {}
        self._servers: dict[tuple[int, int], bool] = {}  # of tmux; whether it was asked in this ending whom it serves
        self.shared: Sequence[Sequence[str]] = ()  # the words of daemons that agents share
        self._looked_at: set[tuple[int, int]] = set()  # of those: whether others use them is asked once in an ending
        self.adopted = False
        self.roots: set[tuple[int, int]] = set()
        self.deaths: dict[tuple[int, int], Death] = {}
        self.began = time.monotonic()

    # -- seeing

    def members(self, foreign: set[int] | None = None) -> dict[int, proc.Stat]:
        """Who is in it now, the dead that wait to be reaped left out, unless a tracer from outside holds them: those nobody can
        reap. `foreign` is for the looks of one kill: see `_scanned`."""
        found = (
            lineage.descendants(os.getpid(), self.infrastructure)
            if self._is_listed()
            else self._scanned(set() if foreign is None else foreign)
        )
        for pid in self.cgroup.pids() if self.cgroup is not None else ():
            if pid not in found and (stat := proc.read_stat(pid)) is not None:
                found[pid] = stat
        self._spare(found)
        if self.adopted:
            self.roots |= {stat.key for stat in found.values()}
        return {pid: stat for pid, stat in found.items() if not stat.is_gone}

    def _is_listed(self) -> bool:
        """Whether the kernel can name its members. Fifty shims that kill at once, each reading the whole machine again and again
        while fifty trees fork, leave each other no time to come to an end."""
        return not self.adopted and lineage.is_kept()

    def _scanned(self, foreign: set[int]) -> dict[int, proc.Stat]:
        """As `members`, by a scan of the machine. `foreign` collects the pids that are not in it, and is passed over when it is
        given again: in the few looks of one kill no stranger becomes a descendant."""
        processes = proc.scan_moving(foreign)
        found = (
            self._followed(processes)
            if self.adopted
            else proc.descendants(processes, {os.getpid()}, self.infrastructure)
        )
        foreign |= processes.keys() - found.keys()
        return found

    def _followed(self, processes: dict[int, proc.Stat]) -> dict[int, proc.Stat]:
        """What can be traced without being its ancestor: known roots and what descends from them, marks, the terminal."""
        roots = {pid for pid, start in self.roots if pid in processes and processes[pid].start == start}
        known = {pid for pid, stat in processes.items() if stat.key in self.deaths}
        terminal = self._terminal()
        for pid, stat in processes.items():
            if pid == os.getpid() or pid in roots:
                continue
            if (terminal and stat.terminal == terminal) or self._bears_a_sign(stat):
                roots.add(pid)
        roots |= known
        found = proc.descendants(processes, roots, self.infrastructure | {os.getpid()})
        found.update({pid: processes[pid] for pid in roots})
        return found

    def _spare(self, found: dict[int, proc.Stat]) -> list[int]:
        """Take out what is others', and say which. Once spared is spared for good. A tmux server is asked once in an ending,
        before anything is stopped: a stopped one does not answer."""
        servers = [stat.key for stat in found.values() if is_server(stat)]
        if not all(self._servers.get(key) for key in servers):
            self._servers.update(dict.fromkeys(servers, True))
            for pid, why in find_spared(found).items():
                self.spared.setdefault(found[pid].key, (proc.command_of(pid), why))
        for stat in [stat for stat in found.values() if stat.key not in self._looked_at]:
            if may_serve(stat, self.shared):
                self._looked_at.add(stat.key)
                if serves_outside(stat.pid, found, os.getpid(), (MARK, self.session)):
                    self.spared.setdefault(stat.key, (proc.command_of(stat.pid), SERVES))
        kept = {pid for pid, stat in found.items() if stat.key in self.spared}
        # A server's own children are told apart by their tmux session; what any other of the spared starts is spared with it.
        parents = {pid for pid in kept if found[pid].key not in self._servers}
        spared = [*kept, *(proc.descendants(found, parents).keys() - kept)]
        for pid in spared:
            stat = found.pop(pid)
            self.spared.setdefault(stat.key, (proc.command_of(pid), "below a process that is spared"))
        return spared

    @property
    def unsure(self) -> bool:
        """Whether something was spared that may be the session's own, or does something for it."""
        return any(why in (UNSURE, SERVES) for _, why in self.spared.values())

    @property
    def apart(self) -> set[int]:
        """Children of the shim that are not the session's."""
        return self.infrastructure | {pid for pid, _ in self.spared}

    def _bears_a_sign(self, stat: proc.Stat) -> bool:
        return bears_mark(stat.pid, self.session, self.state)

    def see(self, stat: proc.Stat) -> Death:
        death = self.deaths.get(stat.key)
        if death is None:
            death = self.deaths[stat.key] = Death(stat.key, proc.command_of(stat.pid), time.monotonic())
        return death

    # -- ending

    def begin(self) -> None:
        self.began = time.monotonic()
        self._servers = dict.fromkeys(self._servers, False)
        self._looked_at.clear()

    def signal(self, number: int, members: dict[int, proc.Stat]) -> None:
        """Signal each, and note for each what it took."""
        for stat in members.values():
            death = self.see(stat)
            answer = proc.send_signal(stat.pid, stat.start, number)
            if answer == "sent" and number not in (signal.SIGSTOP, signal.SIGCONT):
                death.signal = proc.signal_name(number)
            elif answer == "denied":
                death.why = "not permitted: it belongs to another user"

    def hang_up(self) -> None:
        """HUP to all, and CONT, as when their terminal goes away."""
        members = self.members()
        self.signal(signal.SIGHUP, members)
        self.signal(signal.SIGCONT, members)

    def terminate(self) -> None:
        """TERM to all, and CONT, so that a stopped one hears it. One that ignores TERM but not HUP, as a shell at its prompt
        does, gets HUP: to it that is the word that its terminal is gone."""
        members = self.members()
        deaf = {pid: stat for pid, stat in members.items() if proc.ignores(pid, signal.SIGTERM)}
        self.signal(signal.SIGTERM, members)
        self.signal(signal.SIGHUP, {pid: stat for pid, stat in deaf.items() if not proc.ignores(pid, signal.SIGHUP)})
        self.signal(signal.SIGCONT, members)

    def kill(self) -> None:
        """Freeze, so that nothing is born any more, then KILL what is there. To be repeated until all of it is gone.

        With a cgroup its members go first, without a look at the rest of the machine; what left the cgroup but not the tree
        is found by the next call, when the cgroup is empty and a child is still there.
        """
        if self.cgroup is not None and not self.cgroup.is_empty() and self._clear_cgroup(self.cgroup):
            self._kill_cgroup(self.cgroup)
        else:
            self.signal(signal.SIGKILL, self._stop_all())

    def _clear_cgroup(self, cgroup: Cgroup) -> bool:
        """Move what is spared out of it; False when that cannot be, so that the cgroup must not be killed as a whole."""
        for _ in range(_MOST_MOVES):
            inside = {pid: stat for pid in cgroup.pids() if (stat := proc.read_stat(pid)) is not None}
            spared = self._spare(inside)
            if not spared:
                return True
            if not cgroup.move_beside(SPARED, spared):
                break
        return False

    def _kill_cgroup(self, cgroup: Cgroup) -> None:
        cgroup.freeze()
        for pid in cgroup.pids():
            stat = proc.read_stat(pid)
            if stat is not None and stat.state not in "ZX":
                self.see(stat).signal = "KILL"
        cgroup.kill()
        cgroup.thaw()
        # What a KILL by cgroup does not reach gets one by pid: a process whose main thread has left is such a one.
        self.signal(signal.SIGKILL, {pid: stat for pid in cgroup.pids() if (stat := proc.read_stat(pid)) is not None})

    def _stop_all(self) -> dict[int, proc.Stat]:
        """SIGSTOP until two looks agree and all of it stands still. What forks faster than a look is chased."""
        stopped: set[tuple[int, int]] = set()
        agreed = 0
        deadline = time.monotonic() + _FREEZE_SECONDS
        foreign: set[int] = set()
        members = self.members(foreign)
        while agreed < 2 and time.monotonic() < deadline:
            new = {pid: stat for pid, stat in members.items() if stat.key not in stopped}
            moving = any(stat.state in "RSD" for stat in members.values() if not self._beyond(stat))
            agreed = 0 if new or moving else agreed + 1
            newest = proc.last_pid()
            self.signal(signal.SIGSTOP, new)
            stopped.update(stat.key for stat in new.values())
            if new:
                self._chase(newest, stopped)
            elif moving:
                time.sleep(_STOP_SECONDS)  # theirs: to stop, each has to have a turn
            members = self.members(foreign)
        return members

    def _beyond(self, stat: proc.Stat) -> bool:
        """It cannot be stopped by us, so there is no waiting for it to stand still. One in the kernel stops when it comes out."""
        death = self.deaths.get(stat.key)
        return stat.state == "D" or (death is not None and bool(death.why))

    def _chase(self, newest: int, stopped: set[tuple[int, int]]) -> None:
        if self._is_listed():
            self._chase_orphans(stopped)
        else:
            self._chase_pids(newest, stopped)

    def _chase_orphans(self, stopped: set[tuple[int, int]]) -> None:
        """Look only at the shim's own children, until none of them is new: whoever forks and leaves has left a child to us."""
        known = {pid for pid, _ in stopped} | self.apart
        for _ in range(_MOST_CHASES):
            fresh = [pid for pid in reversed(lineage.children_of(os.getpid())) if pid not in known]
            if not fresh:
                return
            known.update(fresh)
            for pid in fresh:
                stat = proc.read_stat(pid)
                if stat is not None and stat.state not in "ZX" and stat.parent == os.getpid():
                    self.signal(signal.SIGSTOP, {pid: stat})
                    stopped.add(stat.key)

    def _chase_pids(self, newest: int, stopped: set[tuple[int, int]]) -> None:
        """Look only at the pids given out since the scan, until none of them is ours."""
        known = {pid for pid, _ in self.deaths}
        if not self.adopted:
            known.add(os.getpid())
        for _ in range(_MOST_CHASES):
            last, fresh = proc.last_pid(), False
            if not 0 < last - newest < 2000:
                return
            for pid in range(last, newest, -1):
                stat = proc.read_stat(pid)
                if (
                    stat is not None
                    and stat.state not in "ZX"
                    and stat.key not in stopped
                    and self._is_ours(stat, known)
                ):
                    self.signal(signal.SIGSTOP, {pid: stat})
                    stopped.add(stat.key)
                    known.add(pid)
                    fresh = True
            if not fresh:
                return
            newest = last - 8

    def _is_ours(self, stat: proc.Stat, known: set[int]) -> bool:
        return stat.pid not in self.apart and stat.parent in known

    # -- proving

    def reaped(self, pid: int, status: int) -> None:
        """A child or an adopted orphan was waited for."""
        self.infrastructure.discard(pid)
        for key in [key for key in self.spared if key[0] == pid]:
            del self.spared[key]
        for (known, _), death in self.deaths.items():
            if known == pid and death.gone_at is None:
                death.gone_at = time.monotonic()
                death.exit = proc.exit_of(status)
                if "signal" in death.exit:
                    death.signal = str(death.exit["signal"])

    def went(self, key: tuple[int, int], command: str, exit: dict[str, Any]) -> None:
        """The command itself has exited, whether or not anybody had signalled it. What a tracer holds dead is not gone: who is
        not its parent hears of the exit all the same."""
        death = self.deaths.setdefault(key, Death(key, command, time.monotonic()))
        if not proc.is_left(*key):
            death.gone_at = death.gone_at or time.monotonic()
        death.exit = exit
        if "signal" in exit:
            death.signal = str(exit["signal"])

    def settle(self) -> list[Death]:
        """Note who is gone by now, and name the rest."""
        left: list[Death] = []
        for (pid, start), death in self.deaths.items():
            if death.gone_at is None:
                if proc.is_left(pid, start):
                    left.append(death)
                else:
                    death.gone_at = time.monotonic()
        return left

    def certificate(self, guarantee: str) -> dict[str, Any]:
        """What happened to whom. Survivors are not among the processes that are gone."""
        left = self.settle()
        for death in left:
            stat = proc.read_stat(death.key[0])
            if stat is not None and not death.why.startswith("not permitted"):
                death.why = _why_it_is_there(stat)
        gone = [death for death in self.deaths.values() if death.gone_at is not None]
        certificate: dict[str, Any] = {
            "guarantee": guarantee,
            "seconds": round(time.monotonic() - self.began, 6),
            "processes": [death.document(self.began) for death in gone],
            "survivors": [death.document(self.began) for death in left],
        }
        return {**certificate, "spared": documents(self.spared.items())} if self.spared else certificate
