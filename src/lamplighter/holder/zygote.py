"""The process that shims are forked from: a copy of the keeper that does nothing else, so that its memory stays as it was.

Pages that the keeper writes between two forks would be private to each shim: it answers and keeps books, and that touches a
quarter of a megabyte. The template only waits and forks. Each shim is forked twice, so that it is the keeper's child: the
one in between leaves, and the keeper is the nearest subreaper. And it is forked ahead, while nobody waits: a start finds a
spare, which becomes its shim, and the next one is forked meanwhile.

A shim says itself that it is there, before it does anything: through a pipe whose other end the keeper has. So there is one,
or there will never be one, whoever of them is killed at whatever moment; and one whose keeper is gone does nothing. Standard
library only.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import resource
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
SHIM = "lamp-shim"
TEMPLATE = "lamp-template"
SPARE = "lamp-spare"
_PID = struct.Struct("<q")


class Zygote:
    """`be_shim` is what a fork becomes, given the message and the descriptors that came with it."""

    def __init__(self, be_shim: Callable[[bytes, list[int]], int]) -> None:
        self.be_shim = be_shim
        self.pid = 0
        self._sock: socket.socket | None = None

    def fork(self, message: bytes, descriptors: list[int]) -> int:
        """The pid of a new shim. A template that was lost is made anew, and asked only when no shim can come of the old one any
        more."""
        for _ in range(3):
            if self._sock is None:
                self._start()
            assert self._sock is not None
            reader, writer = os.pipe2(os.O_CLOEXEC)
            with contextlib.suppress(OSError):
                socket.send_fds(self._sock, [message], [writer, *descriptors])
            os.close(writer)
            answer = os.read(reader, _PID.size)
            os.close(reader)
            if answer:
                return int(_PID.unpack(answer)[0])
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
                set_name(TEMPLATE)
                status = self._serve(theirs)
            finally:
                os._exit(status)
        theirs.close()
        self._sock = ours

    def _serve(self, sock: socket.socket) -> int:
        """Until the keeper is gone."""
        spare = self._make_spare()
        while True:
            message, descriptors = _receive(sock)
            if not message:
                return 0
            try:
                socket.send_fds(spare, [message], descriptors)
            except OSError:
                return (
                    _FAULT  # somebody killed the spare: no shim will come of it, and the next template is asked again
                )
            for descriptor in descriptors:
                os.close(descriptor)
            spare.close()
            spare = self._make_spare()

    def _make_spare(self) -> socket.socket:
        """A process that becomes the shim of the session that it is told of on this. It goes when the template goes."""
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        between = os.fork()
        if between == 0:
            if os.fork():
                os._exit(0)
            become(functools.partial(self._wait, far), [far.fileno()], SPARE)
        os.waitpid(between, 0)
        far.close()
        return near

    def _wait(self, line: socket.socket) -> int:
        """As a spare, with room for what comes along with a session."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        message, descriptors = _receive(line)
        line.close()
        if not message:
            return 0
        set_name(SHIM)
        return self._be_shim(message, descriptors)

    def _be_shim(self, message: bytes, descriptors: list[int]) -> int:
        notice, *given = descriptors
        try:
            os.write(notice, _PID.pack(os.getpid()))
        except BrokenPipeError:
            return 0  # the keeper that wanted it is gone, and the next one is asked anew
        os.close(notice)
        return self.be_shim(message, given)


def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """A message and the descriptors that came with it; an empty one when the other end is gone. OSError when there was no room
    for all of them: then nothing is begun, and the next template is asked again."""
    space = socket.CMSG_SPACE(_DESCRIPTORS * 4)
    message, ancillary, flags, _ = sock.recvmsg(_LONGEST, space, socket.MSG_CMSG_CLOEXEC)
    if flags & socket.MSG_CTRUNC:
        raise OSError("no descriptor is left")
    return message, [number for _, _, raw in ancillary for (number,) in struct.iter_unpack("i", raw)]


def let_go(kept: list[int]) -> None:
    """Close all that is the keeper's or another session's."""
    signal.set_wakeup_fd(-1)
    for before, after in itertools.pairwise([2, *sorted(set(kept)), 1 << 20]):
        os.closerange(before + 1, after)


def become(be: Callable[[], int], kept: list[int], name: str = SHIM) -> None:
    """In a fresh fork: be a shim. Never returns. Another status than 0 tells the keeper that it was lost."""
    status = _FAULT
    try:
        os.setsid()
        become_subreaper()
        set_name(name)
        let_go(kept)
        status = be()
    except BaseException:
        tell_fault()
    finally:
        os._exit(status)
