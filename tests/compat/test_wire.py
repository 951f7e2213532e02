"""A daemon of today speaks to holders of before: shims live for weeks, and a keeper is upgraded in place.

`wire_N/` is the holder as it was when version N of the wire was settled, kept as it is; only what is needed to run it.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.holder import boot, identity, proc
from lamplighter.holder.keeper import code_version
from lamplighter.holder.wire import JSON, Channel
from lamplighter.store import sessions
from lamplighter.store.database import Database
from lamplighter.testing.engine import Engine, engine
from lamplighter.testing.processes import wait_until

VERSIONS = sorted(folder.name for folder in Path(__file__).parent.glob("wire_*"))


@pytest.fixture(params=VERSIONS)
def aged(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, int]]:
    """An engine whose keeper is of another time, and the keeper's pid."""
    with engine() as made:
        listener = identity.listen(made.home.keeper_socket)
        start = Path(__file__).parent / request.param / "lamplighter/holder/start.py"
        lock = os.open(f"{made.home.run}/keeper.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        given = [listener.fileno(), lock]
        command = [sys.executable, "-I", "-S", str(start), made.home.run, made.home.state, "given", *map(str, given)]
        with open(made.folder / "keeper.log", "wb") as log:
            keeper = subprocess.Popen(command, pass_fds=given, env=made.environment, start_new_session=True, stderr=log)
        listener.close()
        os.close(lock)
        yield made, keeper.pid
        made.close()
        assert keeper.wait(20) == 0


def messages(channel: Channel) -> list[dict[str, Any]]:
    channel.sock.settimeout(10)
    while not (frames := channel.read()):
        assert frames is not None, "it hung up"
    return [json.loads(payload) for kind, payload in frames if kind == JSON]


def start_as_then(made: Engine, name: str, command: list[str]) -> str:
    """A session as a daemon of that time left it: its row written as starting, its shim forked, nobody connected."""
    identifier = f"0000000{name[-1]}"
    folder = Path(made.home.session_folder(identifier))
    folder.mkdir(mode=0o700)
    orders = {"program": command[0], "argv": command, "env": {}, "cwd": "/", "umask": 0o22, "rows": 24, "cols": 80}
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


def test_a_daemon_of_today_speaks_to_a_shim_of_then(aged: tuple[Engine, int]) -> None:
    made, keeper = aged
    session = start_as_then(made, "old-1", ["/bin/cat"])
    shown = made.show(session)
    assert (shown["state"], shown["name"]) == ("running", "old-1")
    made.call("send_input", session=session, text="still understood")
    made.call("wait_session", session=session, until="text=understood\r\nstill understood", timeout="60s")
    assert made.call("read_output", session=session)["text"] == "still understood\n" * 2
    # Its keeper became one of today, in place, and holds it still.
    assert made.keeper()[0] == keeper
    sock = boot.connect(made.home.keeper_socket)
    assert sock is not None
    channel = Channel(sock)
    assert messages(channel)[0]["code"] == code_version()
    channel.close()
    assert made.start("cat", name="new")["state"] == "running"
    ended = made.call("end_session", session=session)
    assert (ended["state"], ended["how"], ended["certificate"]["survivors"]) == ("ended", "asked", [])


def test_a_shim_of_then_that_is_lost_is_replaced_by_one_of_today(aged: tuple[Engine, int]) -> None:
    made, _ = aged
    session = start_as_then(made, "old-2", ["/bin/cat"])
    assert made.show(session)["state"] == "running"
    made.kill(made.shim(session))
    assert wait_until(lambda: made.show(session)["holder_lost"])
    made.call("send_input", session=session, text="hello")
    made.call("wait_session", session=session, until="text=hello\r\nhello", timeout="60s")
    assert made.call("kill_session", session=session, force=True)["certificate"]["guarantee"] == "best_effort"
