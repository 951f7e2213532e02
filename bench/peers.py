"""The peers: tmux, asked by a process each time or over a control connection; and a bare PTY loop.

Each tmux has a server, a socket and an empty configuration of its own. Knows nothing of Lamplighter.
"""

from __future__ import annotations

import os
import pty
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from bench.accounts import cpu_of, cpu_of_all
from tests.support.processes import alive, inspect, wait_until

COMMAND = ("cat", "-")


class Tmux:
    """A server with one session of its own, `anchor`, so that it stays when all others are gone."""

    def __init__(self, folder: str) -> None:
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        self.environment["TMUX_TMPDIR"] = folder
        self._prefix = ["tmux", "-L", "bench", "-f", os.devnull]
        self.clients_cpu = 0.0
        self.run("new-session", "-d", "-s", "anchor", "--", *COMMAND)
        self.server = int(self.run("display-message", "-p", "-t", "anchor", "#{pid}"))
        self._number = 0

    def run(self, *arguments: str) -> str:
        """A command as users give it: a client process."""
        before = _children_cpu()
        command = [*self._prefix, *arguments]
        nothing = subprocess.DEVNULL
        done = subprocess.run(command, env=self.environment, stdin=nothing, capture_output=True, text=True, check=True)
        self.clients_cpu += _children_cpu() - before
        return done.stdout.strip()

    def start(self, *command: str) -> str:
        """A session; its name. Two words or more, or tmux would put a shell around the command."""
        name = self.next_name()
        self.run("new-session", "-d", "-s", name, "--", *(command or COMMAND))
        return name

    def next_name(self) -> str:
        self._number += 1
        return f"s{self._number}"

    def panes(self) -> list[int]:
        return [int(pid) for pid in self.run("list-panes", "-a", "-F", "#{pane_pid}").split()]

    def holders_cpu(self) -> float:
        return cpu_of_all([self.server])

    def cpu(self) -> float:
        """All that the starts made run: the server, its clients, and the commands from their fork on."""
        return cpu_of(self.server) + self.clients_cpu + sum(cpu_of(pid) for pid in self.panes())

    def close(self) -> None:
        """End the server, and whatever its sessions' own processes are after that."""
        found = [process for pid in (self.server, *self.panes()) if (process := inspect(pid))]
        self.run("kill-server")
        wait_until(lambda: not any(alive(process.pid, process.start_ticks) for process in found), 5.0)
        for process in found:
            if alive(process.pid, process.start_ticks):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)


class Control:
    """A control-mode connection (`tmux -C`): commands as lines, answers in blocks, output as it comes."""

    def __init__(self, tmux: Tmux, session: str = "anchor") -> None:
        self.tmux = tmux
        command = ["tmux", "-L", "bench", "-f", os.devnull, "-C", "attach-session", "-t", session]
        self.process = subprocess.Popen(command, env=tmux.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._until_answered()  # to the attach itself

    def say(self, command: str) -> None:
        self._input.write(command.encode() + b"\n")
        self._input.flush()

    def run(self, command: str) -> list[bytes]:
        self.say(command)
        return self._until_answered()

    def start(self) -> str:
        name = self.tmux.next_name()
        self.run(f"new-session -d -s {name} -- {' '.join(COMMAND)}")
        return name

    def line(self) -> bytes:
        found = self._output.readline()
        if not found:
            raise ConnectionError("tmux went away")
        return found

    def _until_answered(self) -> list[bytes]:
        lines: list[bytes] = []
        while not (line := self.line()).startswith((b"%end ", b"%error ")):
            if not line.startswith(b"%"):
                lines.append(line)
        if line.startswith(b"%error "):
            raise RuntimeError(f"tmux: {b' '.join(lines).decode()}")
        return lines

    def cpu(self) -> float:
        return self.tmux.cpu() + cpu_of(self.process.pid)

    def close(self) -> None:
        # Killed, not asked: one that still has many notices to write would not hear that its input ended.
        self.process.kill()
        self.process.wait()
        self._input.close()
        self._output.close()


@contextmanager
def tmux() -> Generator[Tmux]:
    folder = tempfile.mkdtemp(prefix="bench-", dir="/tmp")  # short: a socket's path has a limit
    try:
        made = Tmux(folder)
        try:
            yield made
        finally:
            made.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def control(server: Tmux, session: str = "anchor") -> Generator[Control]:
    made = Control(server, session)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def bare_terminal(command: Sequence[str]) -> Generator[int]:
    """A command on a PTY of its own, with nothing between; the master's descriptor."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.execvp(command[0], list(command))
        finally:
            os._exit(127)
    try:
        yield master
    finally:
        os.close(master)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def count_bytes(master: int, expected: int) -> int:
    """The bare loop: read until so many bytes have come, or the other side is gone."""
    seen = 0
    while seen < expected:
        try:
            data = os.read(master, 65536)
        except OSError:
            break  # EIO: the command has exited
        seen += len(data)
    return seen


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
