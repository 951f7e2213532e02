"""A shim whose session is in a pane of tmux: how large the pane is, when tmux has closed it, and letting it go at the end.

tmux reads and writes the terminal; the shim has it open to look at it and to mark the end of what is printed, and gets that
through tmux's pipe. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lamplighter.holder.shim import Shim

CLOSED = "its tmux pane was closed"
# Without a byte. A tmux that is stopped is waited for that long; one on a busy machine may well need some of it.
_PARTING_SECONDS = 10.0
_STOPPED_SECONDS = 0.05


class EndMark:
    """What the shim writes to the pane behind all that the session has printed, and takes out of what tmux passes on: once it
    comes, nothing is missing. A private message, which terminals do not show, in characters that no setting of a terminal
    changes.

    Needed because tmux closes a pane whose process is gone when nothing can be read from its terminal at that moment: the kernel
    may still hold some kilobytes then, which it hands over a little later."""

    def __init__(self, session: str) -> None:
        self.mark = b"\x1b^LAMPLIGHTER-END-%s\x1b\\" % session.upper().encode()
        self.until = 0.0
        self.over = False  # it came, or is not waited for any more
        self._to_write = self.mark
        self._kept = b""

    def write(self, terminal: int) -> bool:
        """True once all of it is written; False when the terminal takes no more at the moment. OSError when it is gone."""
        # A description of its own, as others have the pane's, which waits.
        own = os.open(f"/proc/self/fd/{terminal}", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            while self._to_write:
                self._to_write = self._to_write[os.write(own, self._to_write) :]
        except BlockingIOError:
            _let_go_on(own)
        finally:
            os.close(own)
        return not self._to_write

    def take_out(self, chunks: list[bytes], *, ended: bool) -> list[bytes]:
        """The output without the mark. What may be its first part is kept until more comes."""
        before, found, after = (self._kept + b"".join(chunks)).partition(self.mark)
        self.over = self.over or ended or bool(found)
        size = 0 if self.over else _overlap(before, self.mark)
        self._kept = before[len(before) - size :]
        rest = before[: len(before) - size] + after
        return [rest] if rest else []


def measure(shim: Shim) -> None:
    """Take over the size that tmux has given the pane, if that has changed."""
    size = shim.streams.pane_size()
    if size is not None and size != (shim.meter.rows, shim.meter.cols):
        shim.note_size(*size)


def look(shim: Shim) -> bool:
    """Whether the pane is gone, or there never was one. The terminal is let go with it."""
    terminal = shim.streams.pane
    if terminal is None:
        return True
    poll = select.poll()
    poll.register(terminal, 0)
    if not poll.poll(0):
        return False
    shim.streams.close("pane")
    return True


def part(shim: Shim) -> bool:
    """Let the relay go, and with it the pane: tmux passes the last output on before it closes one. True when that is so, or
    tmux takes too long; False when the shim is to wait on."""
    now = time.monotonic()
    if "relay" in shim.streams.open:
        if not _is_passed_on(shim, now):
            return False
        given_up = shim.mark is not None and not shim.mark.over
        if shim.mark is not None:
            shim.mark.over = True
        with contextlib.suppress(OSError):
            os.write(shim.streams.open["relay"], bytes([_status(shim.exit)]))
        shim.streams.close("relay")
        shim.dying.next_look = now + (0 if given_up else _PARTING_SECONDS)  # a tmux that is stopped is waited for once
    if look(shim) or shim.dying.next_look is None:
        return True
    shim.dying.next_look = max(shim.dying.next_look, shim.meter.heard + _PARTING_SECONDS)  # it still passes output on
    return now >= shim.dying.next_look


def _is_passed_on(shim: Shim, now: float) -> bool:
    """Whether all that the session has printed has come, or no more of it can."""
    if look(shim) or "output" not in shim.streams.open:
        return True
    if shim.mark is None:
        shim.mark = EndMark(shim.spec["session"])
        shim.mark.until = now + _PARTING_SECONDS
    try:
        written = shim.mark.write(shim.streams.open["pane"])
    except OSError:
        return True
    shim.read_all()
    shim.mark.until = max(shim.mark.until, shim.meter.heard + _PARTING_SECONDS)  # it still passes output on
    shim.dying.next_look = shim.mark.until if written else now + _STOPPED_SECONDS
    return shim.mark.over or now >= shim.mark.until


def _let_go_on(terminal: int) -> None:
    """Somebody may have stopped the output with Ctrl-S. Nobody is left whom that could serve."""
    with contextlib.suppress(termios.error):
        settings = termios.tcgetattr(terminal)
        settings[0] &= ~termios.IXON
        termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end are the beginning of the mark."""
    return next(size for size in range(min(len(data), len(mark) - 1), -1, -1) if data.endswith(mark[:size]))


def _status(exit: dict[str, Any] | None) -> int:
    """As a shell tells of it: 128 and the signal's number, where there was one."""
    if not exit:
        return 1
    name = exit.get("signal")
    if name is None:
        return int(exit.get("code") or 0) & 0xFF
    with contextlib.suppress(KeyError):
        return (128 + signal.Signals[f"SIG{name}"]) & 0xFF
    return 255
