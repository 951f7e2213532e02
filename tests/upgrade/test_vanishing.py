"""Holders of 0.1.0, which know nothing of vanished sockets: the daemon does for their sessions what it can."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.aged import aged_engine, start_as_then
from tests.support.engine import Engine
from tests.support.processes import alive, wait_until

ARCHIVE = Path(__file__).with_name("0.1.0.tar.xz")


@pytest.fixture
def aged() -> Iterator[Engine]:
    with aged_engine(ARCHIVE) as (made, _):
        yield made


def kill(made: Engine, *processes: tuple[int, int]) -> None:
    for process in processes:
        os.kill(process[0], signal.SIGSTOP)
    for process in processes:
        made.kill(process)


def test_another_shim_takes_the_place_of_one_that_cannot_be_reached(aged: Engine) -> None:
    session = start_as_then(aged, "old-1", ["/bin/cat"])
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    main, daemon = aged.show(session)["pid"], aged.daemon()
    shutil.rmtree(aged.home.run)
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    assert aged.daemon() == daemon
    aged.kill(daemon)
    shown = aged.show(session)
    assert (shown["state"], shown["pid"]) == ("running", main)
    assert wait_until(lambda: aged.show(session)["holder_lost"])
    aged.call("send_input", session=session, text="hello")
    aged.call("wait_session", session=session, until="text=hello\r\nhello", timeout="60s")
    ended = aged.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["guarantee"]) == ("ended", "best_effort")
    assert not os.path.exists(f"/proc/{main}")


def test_one_that_nobody_can_reach_goes_on_and_can_be_killed(aged: Engine) -> None:
    session = start_as_then(aged, "old-2", ["/bin/cat"])
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    main, shim = aged.show(session)["pid"], aged.shim(session)
    kill(aged, aged.daemon(), aged.keeper())
    shutil.rmtree(aged.home.run)
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    assert alive(*shim)
    found = next(check for check in aged.call("check_host")["checks"] if check["name"] == "sockets")
    assert "old-2" in found["found"]
    ended = aged.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["guarantee"]) == ("ended", "best_effort")
    assert wait_until(lambda: not alive(*shim) and not os.path.exists(f"/proc/{main}"))


def test_a_keeper_that_cannot_be_reached_is_replaced(aged: Engine) -> None:
    session = start_as_then(aged, "old-3", ["/bin/cat"])
    before, shim = aged.keeper(), aged.shim(session)
    shutil.rmtree(aged.home.run)
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    assert (alive(*before), alive(*shim)) == (False, True)
    assert aged.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"


def test_a_session_whose_folder_is_deleted_can_be_ended(aged: Engine) -> None:
    session = start_as_then(aged, "old-4", ["/bin/cat"])
    assert wait_until(lambda: aged.show(session)["state"] == "running")
    shutil.rmtree(aged.home.session_folder(session))
    ended = aged.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])


_OLD_DAEMON = """
import fcntl, os, signal, sqlite3, sys
run, state, _ = sys.argv[1:]
lock = os.open(f"{run}/daemon.lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
store = sqlite3.connect(f"{state}/lamplighter.db")
store.execute("SELECT count(*) FROM sqlite_master").fetchone()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_no_second_daemon_beside_one_that_knows_no_lock(lit: Engine) -> None:
    """One of before, whose folder is gone, has the store open: it goes first."""
    lit.call("get_status")
    lit.call("stop_daemon")
    assert wait_until(lambda: not list((lit.folder).glob("keeper.json")))
    package = lit.folder / "before" / "lamplighter"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "daemon.py").write_text(_OLD_DAEMON)
    command = [sys.executable, "-m", "lamplighter.daemon", lit.home.run, lit.home.state, "3"]
    environment = {**lit.environment, "PYTHONPATH": str(package.parent)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=package.parent) as before:
        assert before.stdout is not None
        assert before.stdout.readline() == b"ready\n"
        shutil.rmtree(lit.home.run)
        assert lit.call("get_status")["pid"] != before.pid
        assert before.wait(60) == 0
