"""A shim whose session is in a pane of tmux: how large the pane is, when tmux has closed it, and letting it go at the end.

tmux reads and writes the terminal; the shim has it open only to look at it, and gets what is printed through tmux's pipe.
Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lamplighter.holder.shim import Shim

CLOSED = "its tmux pane was closed"
# Without a byte. A tmux that is stopped is waited for that long; one on a busy machine may well need some of it.
_PARTING_SECONDS = 10.0


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
        with contextlib.suppress(OSError):
            os.write(shim.streams.open["relay"], bytes([_status(shim.exit)]))
        shim.streams.close("relay")
        shim.dying.next_look = now + _PARTING_SECONDS
    if look(shim) or shim.dying.next_look is None:
        return True
    shim.dying.next_look = max(shim.dying.next_look, shim.meter.heard + _PARTING_SECONDS)  # it still passes output on
    return now >= shim.dying.next_look


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
