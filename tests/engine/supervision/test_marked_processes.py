"""After a loss of all there was: what runs is found by the mark that it bears, listed, and ended when somebody says so."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from tests.support.engine import Engine, engine
from tests.support.losing import kill
from tests.support.processes import alive, wait_until


def started(made: Engine) -> tuple[str, tuple[int, int]]:
    """A session of two processes, and its shim."""
    session = made.start("sh", "-c", "sleep 300 & exec sleep 301", headless=True, name="work")["id"]
    assert wait_until(lambda: len(bearing(session)) == 2)
    return session, made.shim(session)


def lose_everything(made: Engine, shim: tuple[int, int]) -> None:
    """Daemon, keeper and shim at once, and then every file."""
    os.kill(shim[0], signal.SIGSTOP)
    kill(made)
    made.kill(shim)
    for path in made.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def bearing(session: str) -> list[int]:
    """The processes that are marked as this session's."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"LAMPLIGHTER_SESSION={session}".encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", ["kill", "down"])
def test_what_only_a_mark_tells_of_goes_on_and_can_be_ended(both: Engine, how: str) -> None:
    session, shim = started(both)
    before = sorted(bearing(session))
    lose_everything(both, shim)
    assert sorted(bearing(session)) == before
    listed = both.call("list_sessions")["sessions"]
    assert [(one["id"], one["name"], one["state"]) for one in listed] == [(session, "work", "running")]
    assert both.show(session)["command"] == ["sleep", "301"]
    assert sorted(bearing(session)) == before
    checks = {check["name"]: check for check in both.call("check_host")["checks"]}
    assert "does not know 1 session" in checks["store"]["found"]
    if how == "kill":
        ended = both.call("kill_session", session=session, force=True, grace="0s")
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
        assert ended["certificate"]["guarantee"] == "best_effort"
    else:
        went = both.cli("down", "--all", "--yes", "--grace", "0s")
        assert went.returncode == 0, went.stderr
    assert bearing(session) == []


def test_it_is_found_by_the_next_daemon_too(lit: Engine) -> None:
    session, shim = started(lit)
    lose_everything(lit, shim)
    lit.call("get_status")
    lit.kill(lit.daemon())
    assert lit.show(session)["state"] == "running"
    assert lit.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
    assert bearing(session) == []
    lit.kill(lit.daemon())
    assert lit.call("list_sessions")["sessions"] == []


def test_another_homes_are_left_alone(lit: Engine) -> None:
    with engine() as other:
        theirs, shim = started(other)
        os.kill(shim[0], signal.SIGSTOP)
        kill(other)
        other.kill(shim)
        lit.call("get_status")
        assert lit.call("list_sessions")["sessions"] == []
        assert bearing(theirs)
        assert other.call("list_sessions")["sessions"] == []  # ended, as its holder was lost
        assert other.show(theirs)["ending"]["how"] == "lost"
        assert not alive(*shim)
