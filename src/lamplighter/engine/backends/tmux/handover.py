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


class PaneHandover:
    """`told` is what the relay says of the terminal, as environment variables; `brought` the descriptors by name: pane and
    relay from the one, output from the other. Each is taken only from the process that tmux itself has started for it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.told: dict[str, str] = {}
        self.brought: dict[str, int] = {}
        self._relay = self._server = 0
        self._complete = asyncio.Event()
        self._guests: list[socket.socket] = []
        self._listener = _listen(path)

    async def wait(self, relay: int, server: int) -> None:
        """Until all of it was brought: by the relay of this pid, and by a child of this server. Nobody has to wait for a guest
        who says nothing."""
        self._relay, self._server = relay, server
        loop = asyncio.get_running_loop()
        loop.add_reader(self._listener, self._accept)
        try:
            await self._complete.wait()
        finally:
            for sock in (self._listener, *self._guests):
                loop.remove_reader(sock)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            guest, _ = self._listener.accept()
            self._guests.append(guest)
            asyncio.get_running_loop().add_reader(guest, self._hear, guest)

    def _hear(self, guest: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(guest)
        with contextlib.suppress(OSError):  # it went away again; if it is one of ours, it comes back
            message, descriptors, _, _ = socket.recv_fds(guest, _LONGEST, _DESCRIPTORS)
            self._take(message, descriptors, *peer_of(guest))
        if {"pane", "relay", "output"} <= self.brought.keys():
            self._complete.set()

    def _take(self, message: bytes, descriptors: list[int], pid: int, uid: int) -> None:
        kind, *told = message.split(b"\0")
        stat = proc.read_stat(pid)
        invited = kind == b"pane" and pid == self._relay
        invited = invited or (kind == b"tap" and stat is not None and stat.parent == self._server)
        names = {b"pane": ("pane", "relay"), b"tap": ("output",)}.get(kind, ())
        if not invited or uid != os.getuid() or len(names) != len(descriptors):
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

    @property
    def complete(self) -> bool:
        return self._complete.is_set()

    def hand_on(self) -> dict[str, int]:
        """Duplicates of the descriptors, which are the caller's. A keeper may be lost with them: the next one gets others."""
        return {name: os.dup(descriptor) for name, descriptor in self.brought.items()}

    def close(self) -> None:
        """First the path, so that whoever is let go does not come back, then the rest."""
        forget(self.path)
        self._listener.close()
        for guest in self._guests:
            guest.close()
        for descriptor in self.brought.values():
            os.close(descriptor)
        self.brought.clear()


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
