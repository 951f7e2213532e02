"""A real shell in a tmux of its own, typed into and seen as by a person. For tests only; knows bash, zsh and fish."""

from __future__ import annotations

import subprocess
import uuid
from pathlib import Path

from tests.support.engine import Engine
from tests.support.processes import wait_until

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SOURCE = {
    "bash": "PS1='% '; source <(lamp completion bash)",
    "zsh": "PS1='%% '; autoload -Uz compinit; compinit -u -D; source <(lamp completion zsh)",
    "fish": "function fish_prompt; printf '%% '; end; lamp completion fish | source",
}


class Shell:
    """A shell in a tmux of its own, seen as a person sees it."""

    def __init__(self, name: str, lit: Engine, folder: Path, first: str = "") -> None:
        self.name = name
        self.socket = str(lit.folder / "tmux")
        self.environment = {**lit.environment, "HOME": str(folder), "TERM": "xterm-256color"}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", "-c", str(folder), *SHELLS[name])
        self.run(first or SOURCE[name])

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self.socket, *words]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=200, check=True
        ).stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def run(self, line: str) -> None:
        """Run a line, and see it through."""
        mark = uuid.uuid4().hex
        self.tmux("send-keys", "-l", f"{line}; clear; echo {mark[:16]}''{mark[16:]}")
        self.type("Enter")
        assert wait_until(lambda: mark in self.screen()), self.screen()

    def line(self) -> str:
        """What stands on the last prompt's line."""
        lines = [line for line in self.screen().splitlines() if line.startswith("% ")]
        return lines[-1].removeprefix("% ").rstrip() if lines else ""

    def completes(self, typed: str, to: str) -> None:
        """TAB after this line makes it that line."""
        self.tmux("send-keys", "-l", typed)
        assert wait_until(lambda: self.line() == typed.rstrip()), self.screen()
        self.type("Tab")
        assert wait_until(lambda: self.line() == to), f"{to!r} is not on:\n{self.screen()}"
        self.clear()

    def leaves(self, typed: str) -> None:
        """TAB after this line changes nothing; the next key shows that it was done with."""
        self.tmux("send-keys", "-l", typed)
        self.type("Tab", "Z")
        assert wait_until(lambda: self.line() == f"{typed}Z"), self.screen()
        self.clear()

    def offers(self, typed: str, *wanted: str) -> str:
        """TAB, twice where the shell wants that, shows all of these."""
        self.tmux("send-keys", "-l", typed)
        self.type("Tab", "Tab")
        assert wait_until(lambda: all(word in self.screen() for word in wanted)), self.screen()
        found = self.screen()
        self.clear()
        return found

    def clear(self) -> None:
        self.type("C-u")  # not C-c, which would end a completion that is under way, and leave its line
        self.run("true")

    def close(self) -> None:
        subprocess.run(
            ["tmux", "-S", self.socket, "kill-server"], env=self.environment, capture_output=True, check=False
        )
