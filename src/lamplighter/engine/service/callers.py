"""Who is calling, by the kernel's word: the peer's pid, its ancestry to a shim, its cgroup.

Environment marks and what is on record can only take rights away: losing a shim or a keeper never makes anyone the operator.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace

from lamplighter.agents import GENERIC, marks
from lamplighter.domain.permission import NOBODY, OPERATOR, Caller, Rank
from lamplighter.engine.adopt.process_group import agents_among
from lamplighter.engine.adopt.registration import Registration
from lamplighter.engine.backends.tmux import own_servers
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.cgroup import own_path
from lamplighter.holder.exempt import SPARED
from lamplighter.holder.marks import MARK
from lamplighter.holder.wire import peer_of
from lamplighter.lazy_dataclass import dataclass

_SO_PEERPIDFD = 77
_SHIM = "lamp-shim"


@dataclass
class Peer:
    """A connected process. `pidfd` tells whether it is still the one that connected, where the kernel gives one."""

    pid: int
    uid: int
    pidfd: int | None

    @staticmethod
    def of(sock: socket.socket) -> Peer:
        pid, uid = peer_of(sock)
        try:
            raw = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, 4)
            pidfd: int | None = struct.unpack("i", raw)[0]
        except OSError:
            pidfd = None
        return Peer(pid, uid, pidfd)

    def is_gone(self) -> bool:
        if self.pidfd is None:
            return False
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


class Callers:
    def __init__(self, registry: SessionRegistry, keeper: KeeperClient, registration: Registration) -> None:
        self.registry = registry
        self.keeper = keeper
        self.registration = registration

    async def identify(self, peer: Peer) -> Caller:
        """Inside a session that session; with a known agent among the ancestors that one's; else the operator."""
        if peer.uid not in (0, os.getuid()) or peer.pid <= 0:
            return NOBODY
        chain = proc.ancestors(peer.pid)
        if not chain or peer.is_gone():
            return NOBODY
        caller = await self._inside(chain) or await self._agent(chain) or self._strayed(chain)
        caller = caller or self._marked(chain) or self._below_a_shim(chain) or self._escaped(chain)
        # Looked at once more: what was read may have been of another process, if this one died meanwhile.
        if peer.is_gone() or proc.start_of(peer.pid) != chain[0].start:
            return NOBODY
        return replace(caller or OPERATOR, pid=peer.pid)

    async def _inside(self, chain: list[proc.Stat]) -> Caller | None:
        shims = self.registry.shims()
        for number, stat in enumerate(chain):
            if stat.key in shims:
                return self._session(shims[stat.key])
            below = chain[:number]
            if stat.pid == self.keeper.pid and below and below[-1].pid != os.getpid():
                if below[-1].key in own_servers.recorded(self.registry.settings.home.run):
                    break  # a tmux server that had to be started for the user: what is in it is as in any other
                return await self._stray(below)
        return self._in_cgroup(chain[0])

    def _session(self, identifier: str) -> Caller:
        live = self.registry.live_sessions.get(identifier)
        inherited = frozenset(live.session.inherits) if live else frozenset[str]()
        return Caller(Rank.SESSION, f"session:{identifier}", identifier, inherits=inherited)

    def _in_cgroup(self, stat: proc.Stat) -> Caller | None:
        base = self.keeper.cgroup
        path = own_path(stat.pid)
        if base is None or path is None:
            return None
        folder, _, session = path.rpartition("/")
        if folder.rpartition("/")[2] != base.rpartition("/")[2] or not session:
            return None
        # What a session's end has spared was started in it all the same.
        return Caller(Rank.UNKNOWN, f"process:{stat.pid}") if session == SPARED else self._session(session)

    async def _stray(self, chain: list[proc.Stat]) -> Caller:
        """Below a shim that the keeper has only just forked, or left to the keeper by a lost one: its session, when only one
        can be meant."""
        stat = chain[-1]
        try:
            owners = await self.keeper.whose(*stat.key, [one.pid for one in chain])
        except (LampError, RefusedError):
            owners = []
        return self._session(owners[0]) if len(owners) == 1 else Caller(Rank.UNKNOWN, f"process:{stat.pid}")

    async def _agent(self, chain: list[proc.Stat]) -> Caller | None:
        """A known agent outside is a session from its first word on; as long as it cannot be one, it is itself, and may less."""
        nearest = next(iter(agents_among(chain)), None)
        if nearest is None:
            return None
        session = await self.registration.of_caller(chain)
        if session is not None:
            return self._session(session.id)
        return Caller(Rank.AGENT, f"agent:{nearest.agent}:{nearest.main.pid}@{nearest.main.start}")

    def _strayed(self, chain: list[proc.Stat]) -> Caller | None:
        """Seen below an agent that is a session, before whoever was in between went away. Not below what a person had adopted: a
        shell that they go on to type into."""
        keys = {stat.key for stat in chain}
        for live in self.registry.live_sessions.values():
            session = live.session
            if session.in_foreign_terminal and session.agent != GENERIC and not keys.isdisjoint(live.roots):
                return self._session(session.id)
        return None

    def _marked(self, chain: list[proc.Stat]) -> Caller | None:
        for stat in chain:
            if proc.environment_of(stat.pid, MARK) is not None:
                return Caller(Rank.UNKNOWN, f"process:{stat.pid}")
            for mark, program in marks().items():
                if proc.environment_of(stat.pid, mark) is not None:
                    return Caller(Rank.UNKNOWN, f"agent:{program.name}:unknown")
        return None

    def _below_a_shim(self, chain: list[proc.Stat]) -> Caller | None:
        """One that nobody knows (yet): its keeper was lost in the middle of a start. By its name, which takes rights away and
        gives none."""
        unknown = any(proc.name_of(stat.pid) == _SHIM for stat in chain)
        return Caller(Rank.UNKNOWN, f"process:{chain[0].pid}") if unknown else None

    def _escaped(self, chain: list[proc.Stat]) -> Caller | None:
        """A session lost shim and keeper: what has escaped it hangs under init, and looks like anyone who was started since."""
        tops = [stat.start for stat in chain if stat.parent in (1, self.keeper.reaper)]
        if tops and any(start <= max(tops) for start in self._unheld_since()):
            return Caller(Rank.UNKNOWN, f"process:{chain[0].pid}")
        return None

    def _unheld_since(self) -> Iterator[int]:
        """When sessions started whose processes may hang under init by now. Looked up, not remembered: a shim that died a
        moment ago counts before anybody has told of it. With a cgroup a process is known wherever it hangs."""
        for main, adopter in self.registry.holders_lost.values():
            if adopter is None or not proc.is_alive(*adopter):
                yield main
        for live in self.registry.live_sessions.values():
            session = live.session
            at_risk = not session.holder_lost and live.guarantee != "kernel"
            if session.main and session.shim and at_risk and not proc.is_alive(session.shim.pid, session.shim.start):
                yield session.main.start


def program_of(registry: SessionRegistry, caller: Caller) -> str | None:
    """What agent the caller is; None where that cannot be told."""
    live = registry.live_sessions.get(caller.session or "")
    found = live.session.agent if live else caller.name.split(":")[1] if caller.rank is Rank.AGENT else GENERIC
    return None if found == GENERIC else found
