"""An agent whose terminals share a daemon, without a model: a real program that behaves as Codex does there. For tests only;
standard library alone, as it is run as a program called codex.

`app-server --managed-daemon --listen`: the daemon, which runs tools for its clients, each in a session of its own, outside every
client's tree. `resume ID`: a terminal, which starts the daemon when there is none, has it run a tool for that conversation,
and then waits. `archive ID`: has the daemon end what it runs for the conversation; a file `deaf` beside the socket makes it
refuse. `unarchive ID` is noted.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime

HOME = os.environ.get("CODEX_HOME", "")


def serve() -> None:
    tools: dict[str, list[subprocess.Popen[bytes]]] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(HOME)  # by its name alone: a test's folder may be too long for the address of a socket
        listener.bind("sock")
        listener.listen()
        while True:
            client, _ = listener.accept()
            with client, client.makefile("rw") as line:
                act, conversation = line.readline().split()
                if act == "run":
                    environment = {**os.environ, "CODEX_THREAD_ID": conversation}
                    tool = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
                    tools.setdefault(conversation, []).append(tool)
                for tool in tools.pop(conversation, []) if act == "archive" else []:
                    os.killpg(tool.pid, signal.SIGKILL)
                    tool.wait()
                line.write("done\n")


def begin() -> None:
    """The first terminal starts the daemon, as a child that leads a session of its own."""
    if not os.path.exists(f"{HOME}/sock"):
        words = ["app-server", "--listen", "unix://", "--managed-daemon"]
        subprocess.Popen([sys.executable, __file__, *words], start_new_session=True)
    while not os.path.exists(f"{HOME}/sock"):
        time.sleep(0.02)


def ask(act: str, conversation: str) -> None:
    os.chdir(HOME)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("sock")
        with client.makefile("rw") as line:
            line.write(f"{act} {conversation}\n")
            line.flush()
            assert line.readline() == "done\n"


def sit(conversation: str) -> None:
    """Its transcript is where Codex has it, and is written by nobody who has it open."""
    now = datetime.now(UTC)
    folder = f"{HOME}/sessions/{now:%Y/%m/%d}"
    os.makedirs(folder, exist_ok=True)
    meta = {"id": conversation, "cwd": os.getcwd(), "timestamp": now.isoformat()}
    with open(f"{folder}/rollout-{now:%Y-%m-%dT%H-%M-%S}-{conversation}.jsonl", "w") as file:
        file.write(json.dumps({"timestamp": now.isoformat(), "type": "session_meta", "payload": meta}) + "\n")
    begin()
    ask("run", conversation)
    print("ready", flush=True)
    while True:
        time.sleep(600)


def main(words: list[str]) -> int:
    match words:
        case ["app-server", *_]:
            serve()
        case ["resume", conversation]:
            sit(conversation)
        case ["archive" | "unarchive" as act, conversation]:
            with open(f"{HOME}/asked", "a") as file:
                file.write(f"{act} {conversation}\n")
            if os.path.exists(f"{HOME}/deaf"):
                return 1
            ask(act, conversation)
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
