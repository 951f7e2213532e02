"""The machine's unix sockets, by the kernel's own list: the name of each, who is at its other end, whether it waits for clients.

Standard library only. Knows nothing of sessions.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct

_SOCK_DIAG = 4
_BY_FAMILY = 20
_DONE, _FAILED = 3, 2
_DUMP = 0x301
_SHOW_NAME, _SHOW_PEER = 0x1, 0x4
_NAME, _PEER, _SHUTDOWN = 0, 2, 6
_BOTH_WAYS = 3
_WAITING = 10
_MOST_DESCRIPTORS = 4096
_PATIENCE_SECONDS = 2.0


class UnixSocket:
    __slots__ = ("listens", "name", "peer", "shut")

    def __init__(self, name: bytes, peer: int, *, shut: bool, listens: bool) -> None:
        self.name = name
        self.listens = listens
        self.peer = peer
        self.shut = shut


def inodes_of(pid: int) -> list[int]:
    """The sockets that a process has open; none when it is gone or another user's."""
    folder, found = f"/proc/{pid}/fd", list[int]()
    with contextlib.suppress(OSError):
        for name in os.listdir(folder)[:_MOST_DESCRIPTORS]:
            with contextlib.suppress(OSError):
                link = os.readlink(f"{folder}/{name}")
                if link.startswith("socket:["):
                    found.append(int(link[len("socket:[") : -1]))
    return found


def read_all() -> dict[int, UnixSocket]:
    """Every unix socket of this network namespace, by its inode."""
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
