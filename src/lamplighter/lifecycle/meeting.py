"""Where a pane of tmux hands over what belongs to it: a socket that is there while its session starts, and no longer.

Knows descriptors and who brings them; knows nothing of sessions. The other end is `holder.relay`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from lamplighter.holder import proc
from lamplighter.holder.wire import peer_of

_LONGEST = 1 << 16
_DESCRIPTORS = 4


class Meeting:
    """`told` is what the relay says of the terminal, as environment variables; `brought` the descriptors by name: pane and
    relay from the one, output from the other. Each is taken only from the process that tmux itself has started for it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.told: dict[str, str] = {}
        self.brought: dict[str, int] = {}
        self._guests: list[socket.socket] = []
        self._listener = _listen(path)

    async def wait(self, relay: int, server: int) -> None:
        """Until all of it was brought: by the relay of this pid, and by a child of this server."""
        loop = asyncio.get_running_loop()
        while not {"pane", "relay", "output"} <= self.brought.keys():
            guest, _ = await loop.sock_accept(self._listener)
            self._guests.append(guest)
            await _readable(guest)
            with contextlib.suppress(OSError):  # it went away again; if it is one of ours, it comes back
                message, descriptors, _, _ = socket.recv_fds(guest, _LONGEST, _DESCRIPTORS)
                self._take(guest, message, descriptors, relay, server)

    def _take(self, guest: socket.socket, message: bytes, descriptors: list[int], relay: int, server: int) -> None:
        kind, *told = message.split(b"\0")
        pid, uid = peer_of(guest)
        stat = proc.read_stat(pid)
        invited = (
            uid == os.getuid() and stat is not None and (pid if kind == b"pane" else stat.parent) in (relay, server)
        )
        names = {b"pane": ("pane", "relay"), b"tap": ("output",)}.get(kind, ())
        if not invited or len(names) != len(descriptors):
            for descriptor in descriptors:
                os.close(descriptor)
            return
        for name, descriptor in zip(names, descriptors, strict=True):
            os.set_inheritable(descriptor, False)
            if name in self.brought:
                os.close(self.brought[name])
            self.brought[name] = descriptor
        for entry in told:
            name, _, value = entry.decode(errors="surrogateescape").partition("=")
            self.told[name] = value

    def hand_on(self) -> dict[str, int]:
        """The descriptors, which are the caller's from now on."""
        brought, self.brought = self.brought, {}
        return brought

    def close(self) -> None:
        """First the path, so that whoever is let go does not come back, then the rest."""
        forget(self.path)
        self._listener.close()
        for guest in self._guests:
            guest.close()
        for descriptor in self.hand_on().values():
            os.close(descriptor)


def forget(path: str) -> None:
    """Let the relay of a session that was born, or never will be, go its way."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _listen(path: str) -> socket.socket:
    """In place of what a dead daemon left there, without an instant at which there is nothing: that would end the start."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    draft = f"{path}~"
    forget(draft)
    sock.bind(draft)
    os.chmod(draft, 0o600)
    sock.listen(16)
    sock.setblocking(False)
    os.rename(draft, path)
    return sock


async def _readable(sock: socket.socket) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sock.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock.fileno())
