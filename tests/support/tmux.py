"""A tmux server of a test's own, in the folder of its engine. For tests only."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from tests.support.engine import Engine
from tests.support.processes import alive, inspect, wait_until


class Tmux:
    """`name` is the server's socket. Every server that was spoken to is ended with `close`, by its pid."""

    def __init__(self, engine: Engine) -> None:
        self.environment = {**engine.environment, "PS1": "$ ", "SHELL": "/bin/sh"}
        self.prefix: list[str] = []  # what the command is started through, when not as the test itself is
        self._servers: dict[str, tuple[int, int]] = {}

    def run(self, *arguments: str, name: str = "default", check: bool = True) -> str:
        """What the real command prints."""
        command = [*self.prefix, "tmux", "-u", "-f", "/dev/null", "-L", name, *arguments]
        ran = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=200, check=False)
        if check and ran.returncode:
            raise AssertionError(f"{command}: {ran.stderr}")
        return ran.stdout.strip("\n")

    def new(self, session: str, *command: str, name: str = "default") -> int:
        """A session made as a person makes one; the process of its pane. One word is a shell's line, several are a command."""
        made = self.run("new-session", "-d", "-P", "-F", "#{pane_pid} #{pid}", "-s", session, *command, name=name)
        pid, server = map(int, made.split())
        found = inspect(server)
        assert found is not None
        self._servers[name] = (server, found.start_ticks)
        return pid

    def server(self, name: str = "default") -> tuple[int, int]:
        return self._servers[name]

    def sessions(self, name: str = "default") -> list[str]:
        return self.run("list-sessions", "-F", "#{session_name}", name=name, check=False).splitlines()

    def panes(self, session: str) -> list[int]:
        return [int(pid) for pid in self.run("list-panes", "-s", "-t", f"={session}", "-F", "#{pane_pid}").split()]

    def close(self) -> None:
        for process in self._servers.values():
            if alive(*process):
                os.kill(process[0], signal.SIGCONT)
                os.kill(process[0], signal.SIGKILL)
            assert wait_until(lambda process=process: not alive(*process))


@contextmanager
def tmux_of(engine: Engine) -> Generator[Tmux]:
    made = Tmux(engine)
    try:
        yield made
    finally:
        made.close()
