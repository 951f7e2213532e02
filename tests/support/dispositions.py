"""What tests are started with does not reach what they start: signals that are ignored or blocked here are neither there, and
neither is the terminal of whoever runs them.

`nohup ./test &` ignores HUP, a shell's background job may ignore INT and QUIT, and a supervisor may block anything; all of it
goes on from process to process, through every exec. Standard library only. For tests only.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from types import FrameType

# Python itself ignores these, and whoever starts a program knows that: subprocess puts them back.
_PYTHONS_OWN = (signal.SIGPIPE, signal.SIGXFSZ)


def be_plain() -> None:
    """Whatever was ignored still does nothing to this process, but what it executes begins with the default: an exec resets
    handlers, and nothing else. SIGCHLD has no handler by default, and children that nobody waits for must stay zombies."""
    for number in signal.valid_signals():
        if number not in _PYTHONS_OWN and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else _nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def leave_terminal() -> None:
    """What this process starts has no terminal, as where tests run by themselves: an agent at one is somebody's own. Keys that
    interrupt go to the process group as before. Whoever leads the session would take the terminal from all the others."""
    if os.getsid(0) == os.getpid():
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # it has none
        return
    try:
        fcntl.ioctl(terminal, termios.TIOCNOTTY)
    finally:
        os.close(terminal)


def _nothing(number: int, frame: FrameType | None) -> None:
    del number, frame
