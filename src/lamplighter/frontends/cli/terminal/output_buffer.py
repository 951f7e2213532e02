"""A descriptor to write to that may be slow. Never blocks and never changes a descriptor that others share."""

from __future__ import annotations

import os
import select
import stat
import time

_ROOM = 256 << 10
_FILE_STEP = 1 << 20
_PIPE_STEP = select.PIPE_BUF
_TERMINAL_STEP = 256


class OutputBuffer:
    """Bytes on their way out. O_NONBLOCK would hold for everyone who shares the descriptor (the shell, for one), so
    each write waits for poll and is as small as poll promises to take."""

    def __init__(self, descriptor: int, *, own: bool = False) -> None:
        self.descriptor = descriptor
        self.broken = False
        self._step = _FILE_STEP if own else _step(descriptor)
        self._buffer = bytearray()

    @property
    def pending(self) -> bool:
        return bool(self._buffer)

    @property
    def has_room(self) -> bool:
        return len(self._buffer) < _ROOM

    def put(self, data: bytes) -> None:
        if not self.broken:
            self._buffer += data

    def write(self) -> None:
        """One write, after poll said that it would go through. `broken` when nobody is there to read any more."""
        try:
            sent = os.write(self.descriptor, self._buffer[: self._step])
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.broken = True
            self._buffer.clear()
            return
        del self._buffer[:sent]

    def drain(self, seconds: float | None) -> None:
        """Write what is left, until it is out, this long has passed, or nobody reads."""
        until = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.descriptor, select.POLLOUT)
        while self._buffer:
            left = None if until is None else max(0.0, until - time.monotonic()) * 1000
            if not poll.poll(left):
                return
            self.write()


def _step(descriptor: int) -> int:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return _PIPE_STEP
    if stat.S_ISREG(mode):
        return _FILE_STEP
    return _TERMINAL_STEP if stat.S_ISCHR(mode) and os.isatty(descriptor) else _PIPE_STEP
