"""A real agent in a session of Lamplighter: started, spoken to, and everything of it found again in /proc. For tests only.

What is found is found without Lamplighter: by the home folder, whose name is in the environment, the arguments or the
folder of all that the agent starts. Knows nothing of a particular agent.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from tests.support import stubborn_server
from tests.support.agent_home import Agent
from tests.support.engine import Engine
from tests.support.model import Model, Run
from tests.support.processes import Process, touched, wait_until

PATIENCE = 90.0
_SECONDS = 600
"""How long a job lives that nobody ends."""


@dataclass
class Stage:
    """`mark` is in the name of the agent's home and of all that it leaves."""

    engine: Engine
    agent: Agent
    model: Model
    mark: str
    sessions: list[str] = field(default_factory=list[str])

    def terminal(self, prompt: str | None = None, **arguments: Any) -> str:
        return self._start(prompt=prompt, rows=40, cols=120, **arguments)

    def headless(self, prompt: str, **arguments: Any) -> str:
        return self._start(prompt=prompt, headless=True, **arguments)

    def submit(self, session: str, text: str) -> None:
        """As a person does: wait for its prompt, type, see it, press Enter."""
        assert wait_until(lambda: self._at_prompt(session), PATIENCE), self.told(session)
        self.engine.call("send_input", session=session, text=text, enter=False)
        assert self.shows(session, text), self.told(session)
        self.engine.call("send_input", session=session, text="Enter", keys=True)
        assert wait_until(lambda: self.model.count(text), PATIENCE), self.told(session)

    def _at_prompt(self, session: str) -> bool:
        return any(sign in self.screen(session) for sign in self.agent.prompts)

    def shows(self, session: str, text: str) -> bool:
        return wait_until(lambda: text in self.screen(session), PATIENCE)

    def screen(self, session: str) -> str:
        return self.engine.call("read_output", session=session, mode="screen")["text"]

    def told(self, session: str) -> str:
        """For a test's failure: what was asked, and what is seen."""
        headless = self.engine.show(session)["driver"] == "headless"
        seen = self.engine.output(session)[-3000:] if headless else self.screen(session)
        return f"said: {self.model.said}, results: {self.model.results}, seen:\n{seen}"

    def ended(self, session: str) -> dict[str, Any]:
        """Waits until it has ended by itself."""
        self.engine.call("wait_session", session=session, until="ended", timeout=f"{PATIENCE:.0f}s")
        return self.engine.show(session)

    def close(self) -> None:
        for session in self.sessions:
            self.engine.call("kill_session", session=session, grace="0s", force=True)

    def left(self) -> list[Process]:
        """What lives of all that the agent has ever started, itself too."""
        return touched(self.mark)

    def roles(self) -> set[str]:
        """Which of the jobs below, and of what the agent has started by itself, live."""
        words = " ".join(" ".join(process.cmdline) for process in self.left())
        return {name for name in (*JOBS, "managed-daemon") if f"{self.mark}-{name}" in words or f"--{name}" in words}

    def expected(self) -> set[str]:
        """Which of the jobs live, at least, while the last of them runs."""
        return {*JOBS} - ({"background"} if not self.agent.keeps_jobs else set[str]())

    def jobs(self) -> list[Run]:
        """The steps of a turn that leaves a job with `&`, one in a session of its own, and then has a tool that goes on
        running, with a job beside it."""
        leaving = f"{self._job('background')}\n{self._job('setsid', 'setsid ')}\necho left\n"
        running = f"{self._job('beside')}\nbash -c 'exec -a {self.mark}-tool sleep {_SECONDS}'\n"
        return [self._script("leaving", leaving), self._script("running", running)]

    def tool(self) -> Run:
        """A tool that goes on running, alone."""
        return self._script("tool", f"bash -c 'exec -a {self.mark}-tool sleep {_SECONDS}'\n")

    def serve_stubborn(self) -> None:
        self.agent.serve("stubborn", self.stubborn())

    def stubborn(self, *more: str) -> list[str]:
        return [sys.executable, stubborn_server.__file__, f"{self.mark}-server", *more]

    def _script(self, name: str, text: str) -> Run:
        """In a file: Gemini ran a command line with `&` in the middle otherwise than it was written."""
        file = self.agent.home / f"{name}.sh"
        file.write_text(text)
        return Run(f"bash {file}")

    def _job(self, name: str, through: str = "") -> str:
        """Up before the next line: Codex kills what is in the command's group the moment that the command is over."""
        up = self.agent.home / f"{name}.up"
        job = (
            f"{through}bash -c 'echo > {up}; exec -a {self.mark}-{name} sleep {_SECONDS}' >/dev/null 2>&1 </dev/null &"
        )
        return f"{job}\nuntil [ -e {up} ]; do sleep 0.02; done"

    def _start(self, **arguments: Any) -> str:
        usual: dict[str, Any] = {
            "agent": self.agent.name,
            "command": self.agent.words(),
            "model": self.agent.chosen,
            "cwd": str(self.agent.project),
            "environment": self.agent.environment(),
        }
        started: str = self.engine.call("start_session", **{**usual, **arguments})["id"]
        self.sessions.append(started)
        return started


JOBS = ("background", "setsid", "beside", "tool", "server")
