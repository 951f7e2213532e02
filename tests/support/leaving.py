"""A scripted agent that starts things as real agents do, and can be killed before it tidies up. For tests only.

    python FOLDER/claude < DOCUMENT        run under the name of the agent that it plays

The document is a list of things to start: each has `words`, and what its input, output and session are. The agent prints their
pids as a line of JSON and stays. Standard library only.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from lamplighter.holder import proc

SLEEP = shutil.which("sleep") or "/bin/sleep"
_RUN = str(uuid.uuid4())
SERVE = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); time.sleep(300)"


@dataclass(frozen=True)
class Thing:
    """`words` begin with what it is called. Input and output: `pipe` to the agent, `null`, or a file. With `alone` it leads a
    session of its own. `marks` are added to the agent's environment; {pid} in them is the agent's."""

    words: list[str]
    program: str = SLEEP
    input: str = "null"
    output: str = "pipe"
    alone: bool = True
    marks: dict[str, str] = field(default_factory=dict[str, str])


def sleeper(name: str, mark: str, **more: Any) -> Thing:
    """Something that does nothing for five minutes, under a name of its own; the mark is in it."""
    return Thing([f"{name} {mark}", "300"], **more)


def server(name: str, mark: str, **more: Any) -> Thing:
    """Something that waits for clients."""
    return Thing([name, "-c", SERVE, mark], program=sys.executable, **more)


class Player:
    """The agent under way: its process, and the pids of what it has started."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self.running = running
        self.pid = running.pid
        assert running.stdout is not None
        self.pids: list[int] = json.loads(running.stdout.readline())
        self.start = proc.start_of(self.pid)

    def kill(self) -> None:
        self.running.send_signal(signal.SIGKILL)
        self.running.wait()
        for stream in (self.running.stdin, self.running.stdout):
            if stream is not None:
                stream.close()


@contextmanager
def playing(
    agent: str, folder: Path, things: Iterable[Thing], environment: Mapping[str, str] | None = None
) -> Generator[Player]:
    """An agent of this name with these things started. It is killed at the end, if it was not before; they are not."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / agent
    shutil.copy(__file__, script)
    source = str(Path(proc.__file__).parents[2])
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": source, **(environment or {})}
    running = subprocess.Popen(
        [sys.executable, str(script)],
        env=given,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdin is not None
    running.stdin.write(json.dumps([asdict(thing) for thing in things]) + "\n")
    running.stdin.flush()
    player = Player(running)
    try:
        yield player
    finally:
        player.kill()


def conversation(number: int = 1) -> str:
    """An id of an agent's session that nobody else on the machine has: a scan sees what every test has left."""
    return f"{_RUN[:-12]}{number:012d}"


def claude_entry(folder: Path, session: str, pid: int, start: int) -> Path:
    """What Claude Code writes down about a process of its own."""
    place = folder / ".claude" / "sessions" / f"{pid}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"pid": pid, "sessionId": session, "cwd": str(folder), "procStart": str(start)}))
    return place


def _start(thing: dict[str, Any]) -> subprocess.Popen[Any]:
    marks = {name: value.replace("{pid}", str(os.getpid())) for name, value in thing["marks"].items()}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    streams: dict[str, Any] = {"stdin": _stream(thing["input"], "r"), "stdout": _stream(thing["output"], "w")}
    return subprocess.Popen(
        thing["words"],
        executable=thing["program"],
        env={**environment, **marks},
        stderr=subprocess.STDOUT,
        start_new_session=thing["alone"],
        **streams,
    )


def _stream(what: str, mode: str) -> int | IO[str]:
    named = {"pipe": subprocess.PIPE, "null": subprocess.DEVNULL}
    return named[what] if what in named else open(what, mode)


def main() -> None:
    started = [
        _start(thing) for thing in json.loads(sys.stdin.readline())
    ]  # kept: with them go the ends of their pipes
    print(json.dumps([each.pid for each in started]), flush=True)
    time.sleep(300)


if __name__ == "__main__":
    main()
