"""Being woken when a child has died. Standard library only."""

from __future__ import annotations

import os
import signal

from lamplighter.holder.places import REMAKE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def listen_for_children() -> None:
    """Once, in the keeper; forks inherit it. Python passes a signal on to the pipe only when it has a handler."""
    signal.signal(signal.SIGCHLD, _nothing)
    signal.signal(REMAKE, _nothing)


def wake_pipe() -> int:
    """A descriptor that becomes readable when a child has died, or the sockets are to be made again. Signals may be lost in
    number, so what died is found by waiting for all."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def drain(descriptor: int) -> bytes:
    """The numbers of the signals that came."""
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""


def _nothing(number: int, frame: FrameType | None) -> None:
    del number, frame
