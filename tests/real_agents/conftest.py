"""A Lamplighter for the agents to meet, and each agent in a home of its own, configured as its user is told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_home import LAMP, Agent
from tests.support.engine import Engine, engine
from tests.support.mcp_client import outside
from tests.support.model import echo
from tests.support.model.steps import Script
from tests.support.processes import Process, marked, touched
from tests.support.real_agents import AGENTS, EVERY
from tests.support.scripted_model import Hold, OneCall, model, scripted
from tests.support.staged import Stage


@dataclass
class Meeting:
    """One agent, the model that it will ask, and the Lamplighter that its configuration leads to."""

    engine: Engine
    agent: Agent
    model: OneCall

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The agent's program with these arguments, to its end."""
        return self.agent.run(*arguments)

    @contextmanager
    def turn(self) -> Generator[subprocess.Popen[str]]:
        """One headless turn, under way. What is still there of it afterwards is killed."""
        said = self.agent.home / "said"
        with said.open("w") as file:
            running = subprocess.Popen(
                self.agent.asked(),
                cwd=self.agent.project,
                env=self.agent.environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        try:
            yield running
        except BaseException:
            print(f"--- {self.agent.name} said\n{said.read_text()[-4000:]}\n--- refused: {self.model.refused}")
            raise
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait(30)

    def bridges(self) -> list[Process]:
        """The living bridges to this Lamplighter, whoever has started them."""
        home = f"LAMPLIGHTER_HOME={self.engine.folder}"
        return [one for one in marked(str(LAMP)) if one.cmdline[-1] == "mcp" and home in environment_of(one.pid)]


def environment_of(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
    return []


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


@pytest.fixture
def environment() -> Callable[[int], list[str]]:
    return environment_of


@pytest.fixture
def parent() -> Callable[[int], int]:
    return parent_of


@pytest.fixture(scope="module")
def served() -> Iterator[Engine]:
    """Served before: Gemini waits only so long for a server, and a daemon that starts on a busy machine may miss that."""
    with engine() as made:
        with outside(made) as (client, _):
            client.call("list_sessions")
        yield made


@pytest.fixture(params=list(AGENTS))
def meet(request: pytest.FixtureRequest, served: Engine, tmp_path: Path) -> Iterator[Callable[..., Meeting]]:
    """Makes the meeting: the tool that the model will have the agent call, and the arguments for it."""
    with ExitStack() as stack:

        def make(tool: str = "list_sessions", *, hold: Hold | None = None, **arguments: Any) -> Meeting:
            asked = stack.enter_context(model(tool, arguments, hold=hold))
            agent = AGENTS[request.param](tmp_path / request.param, asked)
            if why := agent.missing():
                pytest.skip(why)
            agent.configure(printed(served, request.param))
            agent.accept()
            return Meeting(served, agent, asked)

        yield make


def printed(served: Engine, client: str) -> str:
    """What the user pastes: to the letter. For opencode nothing is printed; it has the same in its own words."""
    if client == "opencode":
        ours = {"type": "local", "command": [str(LAMP), "mcp"], "environment": {"LAMPLIGHTER_HOME": str(served.folder)}}
        return json.dumps({"mcp": {"lamplighter": ours}})
    command = [str(LAMP), "mcp", "--print-config", client]
    return subprocess.run(
        command, env=served.environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.fixture(params=list(AGENTS))
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Makes the stage: an agent in a home of its own, ready to be started by Lamplighter, and a model that follows a script.
    Whatever of it still lives afterwards makes the test fail."""
    mark = f"mark-{uuid.uuid4().hex}"
    with ExitStack() as stack:

        def make(lit: Engine, script: Script = echo, *, bridge: bool = False, stubborn: bool = False) -> Stage:
            asked = stack.enter_context(scripted(script))
            agent = EVERY[request.param](tmp_path / mark, asked)
            if why := agent.missing():
                pytest.skip(why)
            made = Stage(lit, agent, asked, mark)
            if bridge:
                agent.configure(printed(lit, request.param))
            if stubborn:
                made.serve_stubborn()
            agent.accept()
            stack.callback(made.close)
            return made

        yield make
    left = touched(mark)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    assert not left, f"left behind: {left}"
