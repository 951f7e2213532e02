"""The start of a session's command: forked, given its terminal or pipes, and executed, with the execution confirmed.

Standard library only. Knows nothing of logs or the wire.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import resource
import signal
import struct
import termios

from lamplighter.holder.prctl import fork_into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What is ignored stays so in the program that is executed; handlers do not. Ours are these, whatever else was inherited.
_IGNORED = tuple(
    {signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ}
    | {number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}
)
_PAGE = 1 << 20
STAGES = ("session", "streams", "folder", "execute")


class BirthError(Exception):
    """The command could not be executed: which step failed, and the system's error number."""

    def __init__(self, stage: str, number: int) -> None:
        super().__init__(f"{stage}: {os.strerror(number)}")
        self.stage = stage
        self.number = number


class Birth:
    """A command on its way: forked, and not yet known to be executed. `born` stays open in it until it is: who has that locked
    may still come to be."""

    def __init__(
        self, spec: dict[str, Any], streams: tuple[int, int, int], cgroup: int | None, limit: tuple[int, int], born: int
    ) -> None:
        self._reader, writer = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork() if cgroup is None else fork_into(cgroup)
        if self.pid == 0:
            _become(spec, streams, limit, writer, born)
        os.close(writer)

    def confirm(self) -> None:
        """Nothing once the kernel has taken the program; else BirthError, with the child reaped."""
        failure = os.read(self._reader, 8)
        os.close(self._reader)
        if failure:
            os.waitpid(self.pid, 0)
            stage, number = struct.unpack("<ii", failure)
            raise BirthError(STAGES[stage], number)


def _become(
    spec: dict[str, Any], streams: tuple[int, int, int], limit: tuple[int, int], writer: int, born: int
) -> None:
    """In the child: never returns. Any failure is told through the pipe, which the execution closes."""
    stage = 0
    try:
        os.setsid()
        if spec.get("enter"):
            with open(f"{spec['enter']}/cgroup.procs", "w") as file:
                file.write("0")
        stage = 1
        if spec["driver"] in ("terminal", "tmux"):
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        orders = _read_orders(spec["folder"])
        if orders.get("reads"):  # all that it is ever to read, instead of what somebody may still send
            os.dup2(os.open(orders["reads"], os.O_RDONLY | os.O_CLOEXEC), 0)
        os.umask(orders["umask"])
        stage = 2
        os.chdir(orders["cwd"])
        stage = 3
        # Everything else that is open here has close-on-exec set; what a fork under way elsewhere left does not count.
        for before, after in itertools.pairwise([2, *sorted((writer, born)), 65536]):
            os.closerange(before + 1, after)
        os.execve(orders["program"], orders["argv"], orders["env"])
    except OSError as error:
        os.write(writer, struct.pack("<ii", stage, error.errno or errno.EIO))
    finally:
        os._exit(127)


def _read_orders(folder: str) -> dict[str, Any]:
    """The command, its environment, folder and umask. Read only here, so that neither keeper nor shim ever holds them."""
    file = os.open(f"{folder}/launch.json", os.O_RDONLY | os.O_CLOEXEC)
    return json.loads(b"".join(iter(lambda: os.read(file, _PAGE), b"")))


def set_size(terminal: int, rows: int, cols: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def get_size(terminal: int) -> tuple[int, int] | None:
    """Rows and columns; None when the terminal is gone or does not say."""
    try:
        rows, cols, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, b"\0" * 8))
    except OSError:
        return None
    return (rows, cols) if rows and cols else None
