"""Faults of our own: whoever asked is told, and the rest goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder import identity
from tests.support.engine import Engine
from tests.support.processes import alive, wait_until


def test_a_keeper_that_cannot_fork_says_so(lit: Engine) -> None:
    """Something is in the way of the folder for its sockets: no shim can be started, and that is the answer, not silence."""
    steady = lit.start("cat")["id"]
    sockets = lit.folder / "run" / "s"
    sockets.rename(lit.folder / "run" / "away")
    sockets.write_text("in the way")
    with pytest.raises(LampError) as caught:
        lit.start("cat")
    assert caught.value.code is Code.HOLDER_UNREACHABLE
    assert [session["id"] for session in lit.call("list_sessions", all=True)["sessions"]] == [steady]
    sockets.unlink()
    (lit.folder / "run" / "away").rename(sockets)
    assert lit.start("cat")["state"] == "running"
    assert lit.call("kill_session", session=steady, force=True)["certificate"]["survivors"] == []


def test_a_template_that_is_killed_is_made_anew(lit: Engine) -> None:
    lit.start("cat")
    template = lit.child("lamp-template")
    lit.kill(template)
    for _ in range(2):  # the first may be the spare that the lost one had still made
        assert lit.start("cat")["state"] == "running"
    assert lit.child("lamp-template") != template
    assert len(lit.call("list_sessions")["sessions"]) == 3


def test_the_next_shim_is_forked_ahead_and_another_when_it_is_killed(lit: Engine) -> None:
    lit.start("cat")
    spare = lit.child("lamp-spare")
    assert lit.shim(lit.start("cat")["id"]) == spare
    lit.kill(lit.child("lamp-spare"))
    session = lit.start("cat")["id"]
    assert lit.shim(session) != spare
    assert lit.call("kill_session", session=session, force=True)["certificate"]["survivors"] == []


def test_a_lost_shim_does_not_take_the_next_one_with_it(lit: Engine) -> None:
    """What a shim leaves to the keeper is told from what the keeper has of its own."""
    session = lit.start("cat")["id"]
    spare = lit.child("lamp-spare")
    lit.kill(lit.shim(session))
    assert wait_until(lambda: lit.show(session)["holder_lost"])
    certificate = lit.call("kill_session", session=session, force=True)["certificate"]
    assert spare[0] not in [process["pid"] for process in certificate["processes"]]
    assert alive(*spare)
    assert lit.shim(lit.start("cat")["id"]) == spare


def test_two_who_start_a_keeper_at_once_leave_one_that_is_reachable(lit: Engine) -> None:
    """The lock is taken before the socket is touched: a second starter takes nothing away from the first."""
    session = lit.start("cat")["id"]
    keeper = lit.keeper()
    assert identity.spawn_keeper(lit.home.run, lit.home.state) is None
    assert lit.keeper() == keeper
    lit.kill(lit.daemon())
    assert lit.show(session)["state"] == "running"
    for _ in range(5):
        lit.kill(lit.keeper())
        with ThreadPoolExecutor(6) as pool:
            started = [pool.submit(lit.start, "true") for _ in range(6)]
            assert all(job.result()["id"] for job in started)
    assert lit.show(session)["state"] == "running"


def test_the_last_one_out_takes_the_cgroup_folder_away(lit: Engine) -> None:
    found = next(check["found"] for check in lit.call("check_host")["checks"] if check["name"] == "cgroup")
    if "under " not in found:
        pytest.skip("no cgroup can be made here")
    folder = Path(found.partition("under ")[2].partition(";")[0])
    session = lit.start("cat")["id"]
    assert (folder / session).is_dir()
    lit.call("kill_session", session=session, force=True, grace="0s")
    assert not (folder / session).exists()
    lit.call("stop_daemon")
    assert wait_until(lambda: not folder.exists())
