"""The two tiny programs that tmux runs for a session of ours: `relay.py pane SOCKET` is what a pane is made with, and
`relay.py tap SOCKET` what its output is piped to. Each passes on what tmux gave it, over the socket.

The pane's terminal is given up here, so that the session's command can take it for its own; then the relay only waits, because
a pane lives as long as what it was made with. The tap leaves as soon as its pipe is in other hands.

Nothing is told back: the socket is there until the session is born or its start was taken back. Whoever then still has the
other end of the relay's pipe holds the session; when nobody has, the relay leaves, and tmux closes the pane.

Run by its path, isolated and without `site`; imports nothing of ours, and must start fast.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import sys
import termios
import time

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.05
_TOLD = ("TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE")


def offer(path: str, message: bytes, descriptors: list[int]) -> None:
    """Until the socket is gone. A daemon that dies with the descriptors leaves the socket: the next one gets them again."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            try:
                sock.connect(path)
                socket.send_fds(sock, [message], descriptors)
                sock.settimeout(deadline - time.monotonic())
                sock.recv(1)
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(_PAUSE_SECONDS)


def wait(reader: int, terminal: int) -> int:
    """Until the session has ended, which comes with the command's exit status, or the terminal is gone."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(terminal, 0)
    for descriptor, _ in poll.poll():
        if descriptor == reader:
            status = os.read(reader, 1)
            return status[0] if status else 1
    return 1


def pane(path: str) -> int:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    fcntl.ioctl(0, termios.TIOCNOTTY)
    told = [f"{name}={os.environ[name]}" for name in _TOLD if name in os.environ]
    offer(path, b"\0".join([b"pane", *map(os.fsencode, told)]), [0, writer])
    os.close(writer)
    return wait(reader, 0)


def tap(path: str) -> int:
    offer(path, b"tap", [0])
    return 0


if __name__ == "__main__":
    sys.exit({"pane": pane, "tap": tap}[sys.argv[1]](sys.argv[2]))
