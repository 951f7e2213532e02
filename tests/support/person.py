"""A person at a terminal: a real command on a pseudo-terminal, driven by what appears on it. For tests only."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence


class Person:
    """Everything that appeared is in `seen`; `until` waits for more of it, never for time to pass."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], rows: int = 24, cols: int = 80) -> None:
        self.master, slave = pty.openpty()
        self.seen = b""
        self.resize(rows, cols)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            list(command), stdin=slave, stdout=slave, stderr=slave, env={**environment, "TERM": "xterm-256color"},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def resize(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text: str | bytes) -> None:
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def until(self, text: str, since: int = 0, timeout: float = 120.0) -> int:
        """Wait until this text appears, and say where it ends."""
        wanted, deadline = text.encode(), time.monotonic() + timeout
        while (found := self.seen.find(wanted, since)) < 0:
            assert self._more(deadline - time.monotonic()), f"{text!r} does not appear in {self.seen[since:][-2000:]!r}"
        return found + len(wanted)

    def finish(self, timeout: float = 120.0) -> int:
        """The exit status; everything that came before it is in `seen`."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.seen[-2000:]!r}"
            self._more(0.05)
        while self._more(0):
            pass
        return self.process.returncode

    def terminal_is_as_before(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(200)
        os.close(self.slave)
        os.close(self.master)

    def _more(self, timeout: float) -> bool:
        if not select.select([self.master], [], [], max(0.0, timeout))[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True
