"""Where a process's input and output lead: whether anybody holds the other end, who listens, what belongs to the desktop.

Knows /proc and the kernel's list of unix sockets; knows nothing of agents. A look changes nothing. What cannot be told is `OPEN`:
only what the kernel says is dead is called dead.
"""

from __future__ import annotations

import os
import select
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from functools import cached_property

from lamplighter import lazy_re as re
from lamplighter.holder import unix_sockets

_LISTENING = "0A"
_COMPLAINTS = 2
# A program with a line to one of these has a window, or serves those that have.
_DESKTOP = re.compile(rb"/\.X11-unix/|/wayland-\d|/ICE-unix/|/pulse/native$|/pipewire-\d")


class End(StrEnum):
    """`dead`: nobody holds the other end. `nothing`: /dev/null, or closed. `file` and `terminal` are what they say."""

    DEAD = "dead"
    NOTHING = "nothing"
    FILE = "file"
    TERMINAL = "terminal"
    OPEN = "open"


class Ends:
    """One look at the machine's sockets, read when first needed; and at the descriptors of each process that is asked about."""

    @cached_property
    def sockets(self) -> dict[int, unix_sockets.UnixSocket]:
        """Every unix socket, by its inode; nothing where the kernel does not tell."""
        try:
            return unix_sockets.read_all()
        except (OSError, struct.error):
            return {}

    @cached_property
    def listening(self) -> set[int]:
        """Inodes of sockets that wait for clients."""
        found = {inode for inode, each in self.sockets.items() if each.listens}
        for table in ("tcp", "tcp6"):
            with suppress(OSError), open(f"/proc/net/{table}") as file:
                lines = (line.split() for line in file)
                found |= {int(fields[9]) for fields in lines if len(fields) > 9 and fields[3] == _LISTENING}
        return found

    @cached_property
    def bound(self) -> set[bytes]:
        """Paths at which somebody has a unix socket open."""
        return {each.name for each in self.sockets.values() if each.name}

    def of(self, pid: int, number: int) -> tuple[End, str]:
        """Where a descriptor leads, and its name in /proc."""
        path = f"/proc/{pid}/fd/{number}"
        try:
            link = os.readlink(path)
        except FileNotFoundError:
            return End.NOTHING, ""
        except OSError:
            return End.OPEN, ""
        return self._judged(path, link), link

    def _judged(self, path: str, link: str) -> End:
        if link.startswith("pipe:["):
            return End.DEAD if _is_abandoned(path) else End.OPEN
        if link.startswith("socket:["):
            found = self.sockets.get(_inode(link))
            return End.DEAD if found is not None and found.shut and not found.peer else End.OPEN
        if link.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
            return End.DEAD if link.endswith(" (deleted)") else End.TERMINAL
        if link == "/dev/null":
            return End.NOTHING
        return End.FILE if _is_regular(path) else End.OPEN

    def is_at_a_terminal(self, pid: int) -> bool:
        """Whether it reads from or prints to a terminal that lives. What was spoken to over a pipe only complains there."""
        mute = self.of(pid, 0)[0] is End.DEAD
        return any(
            self.of(pid, number)[0] is End.TERMINAL
            for number in _descriptors(pid)
            if not (mute and number == _COMPLAINTS)
        )

    def written(self, pid: int, within: float) -> Iterator[str]:
        """Files that it holds open for writing and that were written to in the last so many seconds."""
        for number in _descriptors(pid):
            end, path = self.of(pid, number)
            descriptor = f"/proc/{pid}/fd/{number}"
            if end is End.FILE and not path.endswith(" (deleted)") and _access(descriptor) in (os.O_WRONLY, os.O_RDWR):
                with suppress(OSError):
                    if time.time() - os.stat(descriptor).st_mtime < within:
                        yield path

    def serves(self, pid: int) -> bool:
        """Whether it waits for clients; also when it is in a network of its own, where nobody here can tell."""
        return _network(pid) != _network("self") or any(
            inode in self.listening for inode in unix_sockets.inodes_of(pid)
        )

    def has_window(self, pid: int) -> bool:
        """Whether it is connected to the desktop: then a person may be looking at it."""
        mine = (self.sockets.get(inode) for inode in unix_sockets.inodes_of(pid))
        peers = (self.sockets.get(one.peer) for one in mine if one is not None and one.peer)
        return any(peer is not None and _DESKTOP.search(peer.name) for peer in peers)

    def is_connected(self, pid: int) -> bool:
        """Whether a client is at a unix socket that it listens at: what was accepted has the same name."""
        mine = {
            each.name
            for inode in unix_sockets.inodes_of(pid)
            if (each := self.sockets.get(inode)) and each.listens and each.name
        }
        return any(each.name in mine and not each.listens and each.peer for each in self.sockets.values())


def _descriptors(pid: int) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return [0, 1, 2]


def _access(path: str) -> int | None:
    """How a descriptor was opened: O_RDONLY, O_WRONLY or O_RDWR; None where that cannot be told."""
    _, _, pid, _, number = path.split("/")
    try:
        with open(f"/proc/{pid}/fdinfo/{number}") as file:
            return next(int(line.split()[1], 8) & os.O_ACCMODE for line in file if line.startswith("flags:"))
    except (OSError, StopIteration, ValueError):
        return None


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _network(pid: int | str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return "?"


def _inode(link: str) -> int:
    return int(link[link.index("[") + 1 : -1])


def _is_abandoned(path: str) -> bool:
    """Whether a pipe's other end is closed everywhere. It is opened once more, in the same direction, and asked."""
    access = _access(path)
    if access is None or access == os.O_RDWR:
        return False  # it holds both ends itself
    try:
        descriptor = os.open(path, access | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(descriptor, 0)  # what is wrong with it is told unasked
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
    finally:
        os.close(descriptor)
