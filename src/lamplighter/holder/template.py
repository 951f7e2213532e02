"""The process that shims are forked from: a copy of the keeper that does nothing else, so that its memory stays as it was.

Pages that the keeper writes between two forks would be private to each shim: it answers and keeps books, and that touches a
quarter of a megabyte. The template only waits and forks. Each shim is forked twice, so that it is the keeper's child: the
one in between leaves, and the keeper is the nearest subreaper. Standard library only.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
import socket
import struct

from lamplighter.holder.faults import tell_fault
from lamplighter.holder.prctl import become_subreaper, set_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 1 << 16
_DESCRIPTORS = 16
_FAULT = 70


class Template:
    """`be_shim` is what a fork becomes, given the message and the descriptors that came with it."""

    def __init__(self, be_shim: Callable[[bytes, list[int]], int]) -> None:
        self.be_shim = be_shim
        self.pid = 0
        self._sock: socket.socket | None = None

    def fork(self, message: bytes, descriptors: list[int]) -> int:
        """The pid of a new shim. A template that was lost is made anew."""
        for _ in range(3):
            if self._sock is None:
                self._start()
            assert self._sock is not None
            try:
                socket.send_fds(self._sock, [message], descriptors)
                answer = self._sock.recv(8)
            except OSError:
                answer = b""
            if answer:
                return int(struct.unpack("<q", answer)[0])
            self._sock.close()
            self._sock = None
        raise OSError("no shim can be forked")

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            status = _FAULT
            try:
                let_go([theirs.fileno()])
                set_name("lamp-template")
                status = self._serve(theirs)
            finally:
                os._exit(status)
        theirs.close()
        self._sock = ours

    def _serve(self, sock: socket.socket) -> int:
        """Until the keeper is gone."""
        space = socket.CMSG_SPACE(_DESCRIPTORS * 4)
        while True:
            message, ancillary, flags, _ = sock.recvmsg(_LONGEST, space, socket.MSG_CMSG_CLOEXEC)
            if not message:
                return 0
            if flags & socket.MSG_CTRUNC:
                return _FAULT  # no room for all its descriptors: nothing is forked yet, and the next template is asked again
            descriptors = [number for _, _, raw in ancillary for (number,) in struct.iter_unpack("i", raw)]
            reader, writer = os.pipe2(os.O_CLOEXEC)
            between = os.fork()
            if between == 0:
                shim = os.fork()
                if shim:
                    os.write(writer, struct.pack("<q", shim))
                    os._exit(0)
                become(functools.partial(self.be_shim, message, descriptors), descriptors)
            os.waitpid(between, 0)
            sock.send(os.read(reader, 8))
            for descriptor in (reader, writer, *descriptors):
                os.close(descriptor)


def let_go(kept: list[int]) -> None:
    """Close all that is the keeper's or another session's."""
    signal.set_wakeup_fd(-1)
    for before, after in itertools.pairwise([2, *sorted(set(kept)), 1 << 20]):
        os.closerange(before + 1, after)


def become(be: Callable[[], int], kept: list[int]) -> None:
    """In a fresh fork: be a shim. Never returns. Another status than 0 tells the keeper that it was lost."""
    status = _FAULT
    try:
        os.setsid()
        become_subreaper()
        set_name("lamp-shim")
        let_go(kept)
        status = be()
    except BaseException:
        tell_fault()
    finally:
        os._exit(status)
