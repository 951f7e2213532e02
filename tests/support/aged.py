"""An engine whose keeper and shims are of an earlier release: the holder as it was, unpacked from an archive. For tests only."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamplighter.domain.name import make_id
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.holder import boot, identity, places, proc
from lamplighter.holder.wire import JSON, Channel
from lamplighter.store import sessions
from lamplighter.store.database import Database
from tests.support.engine import Engine, engine


@contextmanager
def aged_engine(archive: Path, **environment: str) -> Generator[tuple[Engine, int]]:
    """An engine whose keeper runs the archive's code, and the keeper's pid. The first call of a daemon upgrades the keeper."""
    with engine(**environment) as made:
        unpacked = made.folder / "frozen"
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        listener = places.listen(made.home.keeper_socket)
        lock = os.open(f"{made.home.run}/keeper.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        given = [listener.fileno(), lock]
        start = unpacked / "lamplighter/holder/start.py"
        command = [sys.executable, "-I", "-S", str(start), made.home.run, made.home.state, "given", *map(str, given)]
        with open(made.folder / "keeper.log", "wb") as log:
            keeper = subprocess.Popen(command, pass_fds=given, env=made.environment, start_new_session=True, stderr=log)
        listener.close()
        os.close(lock)
        yield made, keeper.pid
        made.close()
        assert keeper.wait(200) in (0, -signal.SIGKILL)  # the test may have killed it


def messages(channel: Channel) -> list[dict[str, Any]]:
    channel.sock.settimeout(120)
    while not (frames := channel.read()):
        assert frames is not None, "it hung up"
    return [json.loads(payload) for kind, payload in frames if kind == JSON]


def start_as_then(made: Engine, name: str, command: list[str]) -> str:
    """A session as a daemon of that time left it: its row written as starting, its shim forked, nobody connected."""
    identifier = make_id(time.time(), "")
    folder = Path(made.home.session_folder(identifier))
    folder.mkdir(mode=0o700)
    environment = {"LAMPLIGHTER_SESSION": identifier, "PATH": os.environ["PATH"]}
    orders = {
        "program": command[0], "argv": command, "env": environment, "cwd": "/", "umask": 0o22, "rows": 24, "cols": 80,
    }  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(orders))
    session = Session(
        identifier, name, Kind.TASK, Driver.TERMINAL, "operator", tuple(command), "/", 1.8e9, proc.boot_id(), key=name
    )
    asyncio.run(_insert(made, session))
    identity.record(made.home.run, "daemon", os.getpid())
    sock = boot.connect(made.home.keeper_socket)
    assert sock is not None
    keeper = Channel(sock)
    messages(keeper)
    spec = {
        "session": identifier, "command": command[0], "driver": "terminal", "rows": 24, "cols": 80,
        "keep_children": False, "bound": False,
        "grace": 5.0, "folder": str(folder), "socket": made.home.shim_socket(identifier), "run": made.home.run,
        "state": made.home.state, "log_limit": 1 << 26, "log_segment": 1 << 23,
    }  # fmt: skip
    keeper.send_json({"op": "spawn", "n": 1, "spec": spec})
    answer = messages(keeper)[0]
    shim = Channel(socket.socket(fileno=keeper.take(answer)[0]))
    assert messages(shim)[0]["event"] == "started"
    shim.close()
    keeper.close()
    return identifier


async def _insert(made: Engine, session: Session) -> None:
    store = Database(made.home.database)
    await store.open()
    await store.write(lambda db: sessions.insert(db, session))
    await store.close()
