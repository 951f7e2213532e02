"""A daemon that an agent has started inside a session, and that others use by now: who they are, by the kernel's word.

What its command line says only tells where to look, as any process may call itself so. What counts is that a process outside
the session is connected to a socket that the daemon itself listens at. Knows /proc and sockets; knows no agent, and nothing of
killing. Standard library only.
"""

from __future__ import annotations

import contextlib
import os

from lamplighter.holder import proc, unix_sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

SERVES = "an agent's own daemon, which a process outside the session is connected to"
_MOST_WORDS = 8192


def may_serve(stat: proc.Stat, kinds: Sequence[Sequence[str]]) -> bool:
    """Whether its command line has all the words of one of these kinds. A daemon leads a session without a terminal, so few
    have to be looked at."""
    if not kinds or stat.session != stat.pid or stat.terminal:
        return False
    words = set(proc.words_of(stat.pid, _MOST_WORDS)[1:])
    return any(words.issuperset(kind) for kind in kinds)


def serves_outside(server: int, members: Container[int], own: int, mark: tuple[str, str]) -> bool:
    """Whether it has a client that is no member of the session, is not below one or below `own`, and does not bear its mark."""
    name, session = mark
    for pid in clients_of(server):
        above = proc.ancestors(pid)
        inside = any(stat.pid == own or stat.pid in members for stat in above)
        if above and not inside and proc.environment_of(pid, name) != session:
            return True
    return False


def clients_of(server: int) -> list[int]:
    """The processes that are connected to a socket at which this one listens. What it has connected to itself is none of
    these: such a socket's other end has a name, and a client's has none."""
    with contextlib.suppress(OSError):
        sockets = unix_sockets.read_all()
        own = [sockets[inode] for inode in unix_sockets.inodes_of(server) if inode in sockets]
        names = {each.name for each in own if each.listens and each.name}
        peers = {each.peer for each in own if not each.listens and each.peer in sockets and each.name in names}
        clients = {inode for inode in peers if not sockets[inode].name}
        if clients:
            others = (pid for pid in proc.all_pids() if pid not in (server, os.getpid()))
            return [pid for pid in others if not clients.isdisjoint(unix_sockets.inodes_of(pid))]
    return []
