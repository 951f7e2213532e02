"""A keeper that is lost while it gives birth: the session is started once, and nothing of the attempt is left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from lamplighter.errors import LampError
from lamplighter.holder import proc
from tests.support.engine import Engine
from tests.support.own_tmux import OwnTmux
from tests.support.processes import alive, inspect, none_left, wait_until


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    made = OwnTmux()
    yield made
    made.close()


def sleeps(pid: int) -> bool:
    found = inspect(pid)
    return found is not None and found.state == "S"


def stopped(pid: int) -> bool:
    found = inspect(pid)
    return found is not None and found.state in "Tt"


def meet(lit: Engine, moment: str, keeper: tuple[int, int], spare: int, runs: Path) -> None:
    """Until the keeper is at this moment of the birth; then it is killed."""
    sessions = Path(lit.folder, "sessions")
    if moment == "before it began":
        assert wait_until(lambda: any(sessions.glob("*/launch.json")))
    else:
        assert wait_until(lambda: len(list(sessions.glob("*/birth.json"))) == 2)
        assert wait_until(lambda: sleeps(keeper[0])), "it has asked the spare, and waits"
    if moment == "after the fork":
        os.kill(keeper[0], signal.SIGSTOP)  # it is told by the spare, and can tell nobody
        os.kill(spare, signal.SIGCONT)
        assert wait_until(runs.exists)
    if moment == "with its template":
        os.kill(lit.child("lamp-template")[0], signal.SIGKILL)
    if moment == "with the spare":
        os.kill(spare, signal.SIGKILL)
    os.kill(keeper[0], signal.SIGKILL)
    assert wait_until(lambda: not alive(*keeper))


@pytest.mark.parametrize("place", ["terminal", "pipes", "tmux"])
@pytest.mark.parametrize(
    "moment", ["before it began", "before the fork", "after the fork", "with its template", "with the spare"]
)
def test_a_keeper_lost_while_it_is_asked(lit: Engine, tmux: OwnTmux, mark: str, place: str, moment: str) -> None:
    lit.start("cat", name="first")
    keeper = lit.keeper()
    spare = lit.child("lamp-spare")[0]
    halted = keeper[0] if moment == "before it began" else spare
    os.kill(halted, signal.SIGSTOP)
    assert wait_until(lambda: stopped(halted))

    runs = Path(lit.folder, "runs")

    def start(_: int) -> str:
        command = ("sh", "-c", f"echo {mark} >> {runs}; sleep 1000; true", mark)
        if place == "tmux":
            return str(tmux.start(lit, *command, name="work")["id"])
        return str(lit.start(*command, name="work", headless=place == "pipes")["id"])

    with ThreadPoolExecutor(1) as pool:
        starting = pool.map(start, [0])
        try:
            meet(lit, moment, keeper, spare, runs)
        finally:  # also when it goes wrong: whatever is stopped would be waited for for ever
            with suppress(ProcessLookupError):
                os.kill(keeper[0], signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(spare, signal.SIGCONT)
        session = next(iter(starting))
    assert wait_until(lambda: runs.exists() and runs.read_text())  # a shell makes the file before it writes to it
    assert lit.show(session)["state"] == "running"
    assert [one["name"] for one in lit.call("list_sessions")["sessions"]].count("work") == 1
    ended = lit.call("kill_session", session=session, force=True, grace="1s")
    assert not ended["certificate"]["survivors"]
    assert none_left(mark)
    assert runs.read_text().split() == [mark]


def test_a_daemon_that_nobody_waits_for_takes_no_socket(lit: Engine) -> None:
    """As is left when a keeper is killed while it starts one, and its successor has started another."""
    lit.call("get_status")
    reader, notice = os.pipe()
    os.close(reader)
    command = [lit.python, "-m", "lamplighter.daemon", lit.home.run, lit.home.state, str(notice)]
    late = subprocess.Popen(command, env=lit.environment, pass_fds=(notice,), stderr=subprocess.PIPE, text=True)
    os.close(notice)
    assert "is gone" in late.communicate(timeout=200)[1]
    assert late.returncode == 0
    before = lit.daemon()
    lit.call("get_status")
    assert lit.daemon() == before


def test_a_store_that_is_locked_once_the_command_runs_is_waited_for(lit: Engine, mark: str) -> None:
    """An error would free the key, and the same call made again would start a second one."""
    lit.start("cat", name="first")
    spare, runs = lit.child("lamp-spare")[0], Path(lit.folder, "runs")
    command, key = ("sh", "-c", f"echo {mark} >> {runs}; exec sleep 1000", mark), "the-same"
    os.kill(spare, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool, closing(sqlite3.connect(lit.home.database, isolation_level=None)) as db:
        starting = pool.submit(lit.start, *command, name="work", key=key)
        try:
            assert wait_until(lambda: len(list(Path(lit.folder, "sessions").glob("*/birth.json"))) == 2)
            db.execute("BEGIN EXCLUSIVE")
        finally:
            os.kill(spare, signal.SIGCONT)
        assert wait_until(lambda: runs.exists() and runs.read_text())
        assert wait_until(lambda: starting.done() or "wait for the store" in (lit.folder / "daemon.log").read_text())
        db.execute("ROLLBACK")
        with suppress(LampError):
            starting.result(120)
    again = lit.start(*command, name="work", key=key)
    assert again["id"] == starting.result(0)["id"]
    assert [one["name"] for one in lit.call("list_sessions")["sessions"]].count("work") == 1
    assert runs.read_text().split() == [mark]
    lit.call("kill_session", session=again["id"], force=True, grace="0s")


def spare_of(keeper: int) -> int:
    """The process that is the next session's shim; none at all while it is being forked."""
    for stat in proc.scan().values():
        if stat.parent == keeper and stat.name == b"lamp-spare":
            return stat.pid
    return 0


def born(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


@pytest.mark.parametrize("attempt", range(5))
def test_a_shim_that_is_lost_once_its_birth_is_written_down_leaves_a_session(
    lit: Engine, mark: str, attempt: int
) -> None:
    """It had no time to say that it started; at least in some of these attempts."""
    before = lit.start("cat", name="before")["id"]
    keeper, sessions = lit.keeper()[0], lit.folder / "sessions"
    assert wait_until(lambda: spare_of(keeper))
    spare = spare_of(keeper)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(lit.start, "sleep", "1000", headless=True, name=mark)
        assert wait_until(lambda: len(os.listdir(sessions)) == 2)
        (new,) = set(os.listdir(sessions)) - {before}
        while not born(sessions / new / "birth.json"):
            pass
        os.kill(spare, signal.SIGKILL)
        assert starting.result(120)["id"] == new
    assert lit.show(new)["state"] == "running"
    assert inspect(lit.show(new)["pid"]) is not None
    lit.call("kill_session", session=new, force=True, grace="0s")
