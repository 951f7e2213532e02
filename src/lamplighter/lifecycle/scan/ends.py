"""Where a process's input and output lead: whether anybody holds the other end, who listens, what belongs to the desktop.

Knows /proc and the kernel's list of unix sockets; knows nothing of agents. A look changes nothing. What cannot be told is `OPEN`:
only what the kernel says is dead is called dead.
"""

from __future__ import annotations

import os
import re
import select
import socket
import stat
import struct
from contextlib import suppress
from enum import StrEnum
from functools import cached_property

_SOCK_DIAG = 4
_BY_FAMILY = 20
_DONE, _FAILED = 3, 2
_DUMP = 0x301
_SHOW_NAME, _SHOW_PEER = 0x1, 0x4
_NAME, _PEER, _SHUTDOWN = 0, 2, 6
_BOTH_WAYS = 3
_LISTENING, _WAITING = "0A", 10
_MOST_DESCRIPTORS = 4096
_PATIENCE_SECONDS = 2.0
# A program with a line to one of these has a window, or serves those that have.
_DESKTOP = re.compile(rb"/\.X11-unix/|/wayland-\d|/ICE-unix/|/pulse/native$|/pipewire-\d")


class End(StrEnum):
    """`dead`: nobody holds the other end. `nothing`: /dev/null, or closed. `file` and `terminal` are what they say."""

    DEAD = "dead"
    NOTHING = "nothing"
    FILE = "file"
    TERMINAL = "terminal"
    OPEN = "open"


class UnixSocket:
    __slots__ = ("listens", "name", "peer", "shut")

    def __init__(self, name: bytes, peer: int, *, shut: bool, listens: bool) -> None:
        self.name = name
        self.listens = listens
        self.peer = peer
        self.shut = shut


class Ends:
    """One look at the machine's sockets, read when first needed; and at the descriptors of each process that is asked about."""

    @cached_property
    def sockets(self) -> dict[int, UnixSocket]:
        """Every unix socket, by its inode; nothing where the kernel does not tell."""
        try:
            return _unix_sockets()
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

    def serves(self, pid: int) -> bool:
        """Whether it waits for clients; also when it is in a network of its own, where nobody here can tell."""
        return _network(pid) != _network("self") or any(inode in self.listening for inode in self._inodes(pid))

    def has_window(self, pid: int) -> bool:
        """Whether it is connected to the desktop: then a person may be looking at it."""
        mine = (self.sockets.get(inode) for inode in self._inodes(pid))
        peers = (self.sockets.get(one.peer) for one in mine if one is not None and one.peer)
        return any(peer is not None and _DESKTOP.search(peer.name) for peer in peers)

    def is_connected(self, pid: int) -> bool:
        """Whether a client is at a unix socket that it listens at: what was accepted has the same name."""
        mine = {
            each.name for inode in self._inodes(pid) if (each := self.sockets.get(inode)) and each.listens and each.name
        }
        return any(each.name in mine and not each.listens and each.peer for each in self.sockets.values())

    def _inodes(self, pid: int) -> list[int]:
        folder, found = f"/proc/{pid}/fd", list[int]()
        with suppress(OSError):
            for name in os.listdir(folder)[:_MOST_DESCRIPTORS]:
                with suppress(OSError):
                    link = os.readlink(f"{folder}/{name}")
                    if link.startswith("socket:["):
                        found.append(_inode(link))
        return found


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
    try:
        with open(f"/proc/{path.split('/')[2]}/fdinfo/{path.rpartition('/')[2]}") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
        writes = flags & os.O_ACCMODE == os.O_WRONLY
        if flags & os.O_ACCMODE == os.O_RDWR:
            return False  # it holds both ends itself
        descriptor = os.open(path, (os.O_WRONLY if writes else os.O_RDONLY) | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, StopIteration, ValueError):
        return False
    try:
        poll = select.poll()
        poll.register(descriptor, 0)  # what is wrong with it is told unasked
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
    finally:
        os.close(descriptor)


def _unix_sockets() -> dict[int, UnixSocket]:
    found: dict[int, UnixSocket] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as line:
        line.settimeout(_PATIENCE_SECONDS)
        request = struct.pack("=BBHIII2I", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_NAME | _SHOW_PEER, 0, 0)
        line.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, _DUMP, 1, 0) + request)
        while _take_in(line.recv(1 << 18), found):
            pass
    return found


def _take_in(data: bytes, found: dict[int, UnixSocket]) -> bool:
    """The messages of one datagram; False when it was the last."""
    at = 0
    while at + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        if kind in (_DONE, _FAILED) or length < 32:
            return False
        state, inode = struct.unpack_from("=2xBxI", data, at + 16)
        said = _attributes(data, at + 32, at + length)
        peer = struct.unpack("=I", said[_PEER])[0] if _PEER in said else 0
        shut = bool(said.get(_SHUTDOWN, b"\0")[0] & _BOTH_WAYS == _BOTH_WAYS)
        name = said.get(_NAME, b"").rstrip(b"\0")
        found[inode] = UnixSocket(name, peer, shut=shut, listens=state == _WAITING)
        at += length + 3 & ~3
    return True


def _attributes(data: bytes, at: int, end: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        found[kind] = data[at + 4 : at + length]
        at += length + 3 & ~3
    return found
