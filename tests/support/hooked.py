"""A scripted agent with hooks: a program called like a real one, that runs what it is told and so fires its hooks. For tests."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.support.engine import Engine
from tests.support.processes import wait_until

_SCRIPT = 'exec 3<>"$1"; while read -r line <&3; do eval "$line"; done\n'
LAMP = str(Path(sys.executable).with_name("lamp"))


class Hooked:
    """One in a session. Each hook is a process below it, as with the real ones, and its output is what it would read."""

    def __init__(self, engine: Engine, folder: Path, agent: str = "claude", **arguments: Any) -> None:
        self.engine = engine
        self.agent = agent
        self.folder = folder / f"{agent}-of-its-own"
        self.folder.mkdir()
        self.orders = self.folder / "orders"
        os.mkfifo(self.orders)
        script = self.folder / agent
        script.write_text(_SCRIPT)
        self._numbers = itertools.count(1)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LAMPLIGHTER_HOME": str(engine.folder),
        }
        given = {"environment": environment, "cwd": str(self.folder), **arguments}
        self.id: str = engine.start("bash", str(script), str(self.orders), **given)["id"]

    def order(self, line: str) -> None:
        """Have it run this."""
        with open(self.orders, "w") as file:
            file.write(f"{line}\n")

    def begin(self, event: str, said: bytes | dict[str, Any], through: str = "") -> Path:
        """Fire a hook; the file that has what it printed, once it is over."""
        number = next(self._numbers)
        given, out = self.folder / f"{number}.in", self.folder / f"{number}.out"
        given.write_bytes(said if isinstance(said, bytes) else json.dumps(said).encode())
        run = f"{LAMP} hook {self.agent} {event} < {given} > {out}.part 2> {out}.err"
        hook = f"{run}; echo $? > {out}.status; mv {out}.part {out}"
        self.order(f"{through} {shlex.quote(hook)}" if through else f"sh -c {shlex.quote(hook)}")
        return out

    def hook(self, event: str, said: bytes | dict[str, Any], through: str = "") -> str:
        """What it printed. It must be quiet and succeed, whatever happens."""
        out = self.begin(event, said, through)
        assert wait_until(out.exists), f"the hook {event} did not come back"
        assert Path(f"{out}.status").read_text() == "0\n"
        assert Path(f"{out}.err").read_text() == ""
        return out.read_text()

    def context(self, event: str, **said: Any) -> str:
        """What its model would see of the answer."""
        answer = self.hook(event, said)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
