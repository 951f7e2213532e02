"""The process that shims are forked from: a copy of the keeper that does nothing else, so that its memory stays as it was.

Pages that the keeper writes between two forks would be private to each shim: it answers and keeps books, and that touches a
quarter of a megabyte. The template only waits and forks. Each shim is forked twice, so that it is the keeper's child: the
one in between leaves, and the keeper is the nearest subreaper. And it is forked ahead, while nobody waits: a start finds a
spare, to which the keeper has a line of its own, and the next one is forked when that start is over, so that the two do not
take each other's processor. A start that comes before says that it wants one.

A shim says itself that it is there, before it does anything: on that line, whose other end the keeper alone has. So there is
one, or there will never be one, whoever of them is killed at whatever moment; and one whose keeper is gone does nothing.
Standard library only.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import resource
import select
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
_PID = _COUNT = struct.Struct("<q")
_TRIES = 4


def _nothing() -> None:
    pass


class Zygote:
    """`be_shim` is what a fork becomes, given the message, the descriptors that came with it, and what to call when its start is
    over. `prepare` is what a spare does before it waits."""

    def __init__(
        self, be_shim: Callable[[bytes, list[int], Callable[[], None]], int], prepare: Callable[[], None] = _nothing
    ) -> None:
        self.be_shim = be_shim
        self.prepare = prepare
        self.pid = 0
        self._sock: socket.socket | None = None
        self._taken = 0  # spares of this template that have come
        self._spare: socket.socket | None = None  # the line to the last of them

    def want(self) -> None:
        """Have a spare be there, or on its way, while other things are done."""
        if self._sock is None:
            self._start()
        if self._spare is None and self._sock is not None:
            try:
                self._take(socket.MSG_DONTWAIT)
            except BlockingIOError:
                with contextlib.suppress(OSError):
                    self._sock.send(_COUNT.pack(self._taken))

    def fork(self, message: bytes, descriptors: list[int]) -> int:
        """The pid of a new shim. A spare or a template that was lost is replaced, and asked only when no shim can come of the old
        one any more."""
        for _ in range(_TRIES):
            self.want()
            if self._spare is None:
                self._take()
            spare, self._spare = self._spare, None
            if spare is None:
                continue
            with spare, contextlib.suppress(OSError):
                socket.send_fds(spare, [message], descriptors)
                answer = spare.recv(_PID.size)
                if answer:
                    return int(_PID.unpack(answer)[0])
        raise OSError("no shim can be forked")

    def forget(self) -> None:
        """The template is gone, or not to be asked any more: its spares go with it, and the next start has another one made."""
        for sock in (self._sock, self._spare):
            if sock is not None:
                sock.close()
        self._sock = self._spare = None

    def _take(self, how: int = 0) -> None:
        """The line to the next spare; none when the template was lost. BlockingIOError when there is to be no waiting for it."""
        if self._sock is None:
            return
        try:
            _, found = _receive(self._sock, how)
        except BlockingIOError:
            raise
        except OSError:  # also when there was no room for the line: this template may not know then that it is asked
            found = []
        if found:
            self._taken += 1
            self._spare = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, found[0])
        else:
            self.forget()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            status = _FAULT
            try:
                let_go([theirs.fileno()])
                set_name(TEMPLATE)
                self._serve(theirs)
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        self._sock, self._taken = ours, 0

    def _serve(self, sock: socket.socket) -> None:
        """Until the keeper is gone."""
        made = 0
        while True:
            line, over = self._make_spare()
            made += 1
            try:
                socket.send_fds(sock, [b"spare"], [line])
            except OSError:
                return
            os.close(line)
            if not _is_wanted(sock, over, made):
                return
            os.close(over)

    def _make_spare(self) -> tuple[int, int]:
        """A process that becomes the shim of the session that it is told of on this line, and goes when nobody has the other end;
        and what is closed when its start is over, or it is gone."""
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        over, underway = os.pipe2(os.O_CLOEXEC)
        between = os.fork()
        if between == 0:
            if os.fork():
                os._exit(0)
            become(functools.partial(self._wait, far, underway), [far.fileno(), underway], SPARE)
        os.waitpid(between, 0)
        far.close()
        os.close(underway)
        return near.detach(), over

    def _wait(self, line: socket.socket, underway: int) -> int:
        """As a spare, with room for what comes along with a session."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.prepare()
        message, given = _receive(line)
        if not message:
            return 0
        set_name(SHIM)
        try:
            line.send(_PID.pack(os.getpid()))
        except OSError:
            return 0  # the keeper that wanted it is gone, and the next one is asked anew
        line.close()
        return self.be_shim(message, given, functools.partial(os.close, underway))


def _is_wanted(sock: socket.socket, over: int, made: int) -> bool:
    """Wait until another spare is; False when the keeper is gone. Who says that it wants one may not have heard of the last."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(over, 0)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll()]
        if sock.fileno() not in ready:
            return True
        asked = sock.recv(_COUNT.size)
        if not asked:
            return False
        if _COUNT.unpack(asked)[0] == made:
            return True


def _receive(sock: socket.socket, how: int = 0) -> tuple[bytes, list[int]]:
    """A message and the descriptors that came with it; an empty one when the other end is gone. OSError when there was no room
    for all of them: then nothing is begun, and the next spare is asked."""
    space = socket.CMSG_SPACE(_DESCRIPTORS * 4)
    message, ancillary, flags, _ = sock.recvmsg(_LONGEST, space, socket.MSG_CMSG_CLOEXEC | how)
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
