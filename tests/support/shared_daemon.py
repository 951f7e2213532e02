"""An agent whose terminals share a daemon, without a model: a real program that behaves as Codex does there. For tests only;
standard library alone, as it is run as a program called codex.

`app-server --managed-daemon --listen`: the daemon, which runs tools for its clients, each in a session of its own, outside every
client's tree. `resume ID`: a terminal, which starts the daemon when there is none, has it run a tool for that conversation,
and then stays connected to it; it leaves by itself once there is a file `leave-ID`. `archive ID`: has the daemon end what it runs
for the conversation, which is put away from then on; `unarchive ID` takes it back, also without the daemon; neither can be done
twice. A file `deaf` beside the socket makes either refuse, and while there is a file `slow` whoever has put something away does
not come to an end.
"""

from __future__ import annotations

import json
import os
import select
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
        listener.bind("sock~")
        listener.listen()
        os.rename("sock~", "sock")  # whoever sees it can connect
        clients: list[socket.socket] = []  # each for as long as it wishes
        while True:
            for ready in select.select([listener, *clients], [], [])[0]:
                if ready is listener:
                    clients.append(listener.accept()[0])
                elif said := ready.recv(1 << 10):
                    obey(tools, *said.decode().split())
                    ready.sendall(b"done\n")
                else:
                    clients.remove(ready)
                    ready.close()


def obey(tools: dict[str, list[subprocess.Popen[bytes]]], act: str, conversation: str) -> None:
    if act == "run":
        environment = {**os.environ, "CODEX_THREAD_ID": conversation}
        tool = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
        tools.setdefault(conversation, []).append(tool)
    for tool in tools.pop(conversation, []) if act == "archive" else []:
        os.killpg(tool.pid, signal.SIGKILL)
        tool.wait()


def begin() -> None:
    """The first terminal starts the daemon, as a child that leads a session of its own."""
    if not os.path.exists(f"{HOME}/sock"):
        words = ["app-server", "--listen", "unix://", "--managed-daemon"]
        subprocess.Popen([sys.executable, __file__, *words], start_new_session=True)
    while not os.path.exists(f"{HOME}/sock"):
        time.sleep(0.02)


def ask(act: str, conversation: str) -> socket.socket:
    os.chdir(HOME)
    client = socket.socket(socket.AF_UNIX)
    client.connect("sock")
    with client.makefile("rw") as line:
        line.write(f"{act} {conversation}\n")
        line.flush()
        assert line.readline() == "done\n"
    return client


def sit(conversation: str) -> None:
    """Its transcript is where Codex has it, and is written by nobody who has it open."""
    now = datetime.now(UTC)
    folder = f"{HOME}/sessions/{now:%Y/%m/%d}"
    os.makedirs(folder, exist_ok=True)
    meta = {"id": conversation, "cwd": os.getcwd(), "timestamp": now.isoformat()}
    with open(f"{folder}/rollout-{now:%Y-%m-%dT%H-%M-%S}-{conversation}.jsonl", "w") as file:
        file.write(json.dumps({"timestamp": now.isoformat(), "type": "session_meta", "payload": meta}) + "\n")
    begin()
    with ask("run", conversation):
        print("ready", flush=True)
        while not os.path.exists(f"{HOME}/leave-{conversation}"):
            time.sleep(0.02)


def put_away(conversation: str) -> None:
    ask("archive", conversation).close()
    open(f"{HOME}/archived-{conversation}", "x").close()
    while os.path.exists(f"{HOME}/slow"):
        time.sleep(0.02)


def take_back(conversation: str) -> None:
    os.unlink(f"{HOME}/archived-{conversation}")


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
            put_away(conversation) if act == "archive" else take_back(conversation)
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
