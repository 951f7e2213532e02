"""A tmux of a test's own: its server on a socket in a folder of its own, as a user has one. For tests only."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.engine import Engine
from tests.support.processes import alive, inspect, wait_until


class OwnTmux:
    """`environment` is what a caller has whose `tmux` speaks to this server."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tm-", dir="/tmp"))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TMUX_TMPDIR": str(self.folder),
        }
        self.socket = f"{self.folder}/tmux-{os.getuid()}/default"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["tmux", "-u", *arguments]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=200, check=False, cwd="/"
        )

    def ask(self, *arguments: str) -> str:
        """What it prints; it must not fail."""
        ran = self.run(*arguments)
        assert ran.returncode == 0, f"tmux {arguments}: {ran.stderr}"
        return ran.stdout

    def say(self, form: str, target: str) -> str:
        """One of tmux's formats, for a pane; nothing when there is none."""
        return self.run("display-message", "-p", "-t", target, form).stdout.rstrip("\n")

    def sessions(self) -> list[str]:
        return self.run("list-sessions", "-F", "#{session_name}").stdout.split()

    def screen(self, target: str) -> str:
        return self.run("capture-pane", "-p", "-t", target).stdout

    def type(self, target: str, *keys: str) -> None:
        self.ask("send-keys", "-t", target, *keys)

    def until(self, target: str, text: str, timeout: float = 120.0) -> None:
        """Wait until this stands on the pane's screen."""
        assert wait_until(lambda: text in self.screen(target), timeout), f"{text!r} is not in {self.screen(target)!r}"

    def server(self) -> tuple[int, int] | None:
        """The server's pid and start time."""
        said = self.run("display-message", "-p", "#{pid}").stdout.strip() or self._listed()
        found = inspect(int(said)) if said else None
        return (found.pid, found.start_ticks) if found else None

    def _listed(self) -> str:
        return self.run("list-sessions", "-F", "#{pid}").stdout.partition("\n")[0].strip()

    def start(self, engine: Engine, *command: str, **arguments: Any) -> dict[str, Any]:
        """A session of ours in this tmux."""
        return engine.start(*command, **{"tmux": True, "environment": self.environment, **arguments})

    @contextmanager
    def attached(self, target: str) -> Generator[int]:
        """Somebody at a terminal of their own: the pid of their tmux."""
        pid, terminal = pty.fork()
        if pid == 0:
            with suppress(OSError):
                os.execvpe(
                    "tmux", ["tmux", "-u", "attach-session", "-t", target], {**self.environment, "TERM": "xterm"}
                )
            os._exit(1)
        try:
            assert wait_until(lambda: self.say("#{session_attached}", target) == "1")
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)

    def close(self) -> None:
        server = self.server()
        if server is not None:
            with suppress(ProcessLookupError):
                os.kill(server[0], signal.SIGKILL)
            wait_until(lambda: not alive(*server))
        shutil.rmtree(self.folder, ignore_errors=True)
