"""An agent that nobody started under Lamplighter: a real process with an agent's name, which runs what it is told. For tests.

It is a shell under another name that reads its commands from a pipe, so everything that it runs is its child.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support import asker
from tests.support.engine import Engine
from tests.support.processes import Process, inspect, wait_until

_SIGNS = ("CLAUDE", "CODEX", "GEMINI", "OPENCODE", "QWEN")


class Outsider:
    """`program` is where its executable is; `process` is the agent."""

    def __init__(self, engine: Engine, name: str, folder: Path, *arguments: str, **options: Any) -> None:
        self.engine = engine
        self.folder = folder
        self.program = folder / "bin" / name
        self.program.parent.mkdir(exist_ok=True)
        if not self.program.exists():
            shutil.copy("/bin/sh", self.program)
        given = {name: value for name, value in engine.environment.items() if not name.startswith(_SIGNS)}
        given.update(options.pop("environment", {}))
        words = [*options.pop("before", ()), str(self.program), *(("-s", *arguments) if arguments else ())]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, env=given, cwd=folder, text=True, **options)

    @property
    def seen(self) -> Process:
        found = inspect(self.process.pid)
        assert found is not None
        return found

    def tell(self, script: str) -> None:
        """Have it run this, after all that it was told before."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{script}\n")
        self.process.stdin.flush()

    def ask(self, operation: str, /, disguise: str = "plain", **arguments: Any) -> dict[str, Any]:
        """What the daemon answers to a child of the agent."""
        words, answer = asking(self.engine, operation, disguise, **arguments)
        self.tell(words)
        return answered(answer)

    def caller(self) -> str:
        return self.ask("get_status")["result"]["caller"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(200)

    def leave(self) -> None:
        """It has nothing more to do, and exits by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(200)


def asking(engine: Engine, operation: str, /, disguise: str = "plain", **arguments: Any) -> tuple[str, Path]:
    """The words of a call of an operation, for a shell, and the file that its answer comes to."""
    answer = engine.folder / f"answer-{uuid.uuid4().hex}"
    words = [sys.executable, asker.__file__, engine.home.run, str(answer), disguise, operation]
    return shlex.join([*words, json.dumps(arguments)]), answer


def answered(file: Path) -> dict[str, Any]:
    assert wait_until(file.exists)
    return json.loads(file.read_text())


@contextmanager
def outsider(
    engine: Engine, folder: Path, name: str = "claude", *arguments: str, **options: Any
) -> Generator[Outsider]:
    """An agent that is gone at the end, whatever has become of it."""
    engine.call("get_status")  # so that there is a daemon, and no child of the agent has to start one
    made = Outsider(engine, name, folder, *arguments, **options)
    try:
        yield made
    finally:
        made.kill()
        with suppress(OSError):
            assert made.process.stdin is not None
            made.process.stdin.close()


def in_a_shell(words: str) -> str:
    """As an agent's tool runs it: a shell of its own between the agent and the command."""
    return f"/bin/sh -c {shlex.quote(f'{words}; true')}"
