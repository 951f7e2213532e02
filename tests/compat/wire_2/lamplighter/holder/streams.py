"""A session's terminal or pipes: reading what comes in bursts, writing what is typed as far as it is taken.

Standard library only. Knows descriptors; knows nothing of logs or of who types.
"""

from __future__ import annotations

import os
from collections import deque

from lamplighter.holder.birth import get_size, set_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BURST = 256 << 10
_CHUNK = 65536
_TERMINAL_FULL = 4095  # a terminal gives no more at once: less than that, and it is empty


_READ = ("terminal", "stdout", "stderr", "output")


class Streams:
    """`open` holds the descriptors by name: terminal; or stdin, stdout and stderr; or, of a pane of tmux, what it prints
    (output), its terminal (pane), which is tmux's to read and write, and the way to its relay."""

    def __init__(self, descriptors: dict[str, int]) -> None:
        self.open = descriptors
        self.queued = 0
        self._queue: deque[tuple[bytes, Callable[[bool], None]]] = deque()

    @property
    def outputs(self) -> dict[int, str]:
        """What is read from, by descriptor."""
        return {descriptor: name for name, descriptor in self.open.items() if name in _READ}

    @property
    def input(self) -> int | None:
        """What is written to; None when the session takes no input any more."""
        return self.open.get("terminal", self.open.get("stdin"))

    @property
    def has_to_write(self) -> bool:
        return bool(self._queue)

    def read(self, name: str) -> tuple[list[bytes], bool]:
        """What there is, up to a burst; and whether that was the end."""
        descriptor, full = self.open[name], _TERMINAL_FULL if name == "terminal" else _CHUNK
        chunks: list[bytes] = []
        size = 0
        while size < BURST:
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                break
            except OSError:
                return chunks, True  # EIO: the last one that had the terminal open is gone
            if not data:
                return chunks, True
            chunks.append(data)
            size += len(data)
            if len(data) < full:
                break
        return chunks, False

    def write(self, data: bytes, done: Callable[[bool], None]) -> None:
        """Queue it; `done` hears True once all of it was taken, False when it never will be."""
        self._queue.append((data, done))
        self.queued += len(data)
        self.flush()

    def flush(self) -> None:
        descriptor = self.input
        while self._queue and descriptor is not None:
            data, done = self._queue[0]
            try:
                sent = os.write(descriptor, data) if data else 0
            except BlockingIOError:
                return
            except OSError:
                self.close_input()
                return
            self.queued -= sent
            if sent < len(data):
                self._queue[0] = (data[sent:], done)
                continue
            self._queue.popleft()
            done(True)
            descriptor = self.input

    def close_input(self) -> None:
        """No more can be typed; what still waits is told so."""
        self.close("stdin" if "stdin" in self.open else "terminal")

    def close(self, name: str) -> None:
        descriptor = self.open.pop(name, None)
        if descriptor is None:
            return
        os.close(descriptor)
        if name in ("stdin", "terminal"):
            queue, self._queue, self.queued = self._queue, deque(), 0
            for _, done in queue:
                done(False)

    @property
    def pane(self) -> int | None:
        """The terminal of a pane of tmux, until that is gone."""
        return self.open.get("pane")

    def pane_size(self) -> tuple[int, int] | None:
        """Rows and columns of the pane as tmux has made it; None when there is no pane any more."""
        return None if self.pane is None else get_size(self.pane)

    def resize(self, rows: int, cols: int) -> bool:
        """False when there is no terminal to resize."""
        if "terminal" not in self.open or rows < 1 or cols < 1:
            return False
        set_size(self.open["terminal"], rows, cols)
        return True
