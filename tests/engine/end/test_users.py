"""As an ordinary user: the same proofs with and without a cgroup of one's own, and survivors that are another user's.

Only root can be somebody else. Where the tests run as an ordinary user, all the other cases are that already.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.engine import leaving_nothing
from tests.support.escapees import ESCAPEES
from tests.support.fixtures import cgroup_usable
from tests.support.ordinary import UID, OrdinaryEngine, delegated_cgroup, find_python
from tests.support.processes import marked, none_left, wait_until
from tests.support.survivor import make_program, start_with
from tests.support.tmux import tmux_of

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")

TEN = [name for name in ESCAPEES if name not in ("plain", "bomb")]
STATUS_SURVIVORS = 8


@pytest.fixture(scope="module")
def python() -> str:
    found = find_python()
    if found is None:
        pytest.skip(f"uid {UID} can read no Python of this version, or not this package")
    return found


@pytest.fixture
def tree(python: str) -> Iterator[OrdinaryEngine]:
    with leaving_nothing(OrdinaryEngine(python)) as made:
        made.guarantee = "tree"
        yield made


@pytest.fixture
def kernel(python: str) -> Iterator[OrdinaryEngine]:
    if not cgroup_usable():
        pytest.skip("no cgroup can be made here")
    with delegated_cgroup() as folder, leaving_nothing(OrdinaryEngine(python, folder)) as made:
        made.guarantee = "kernel"
        yield made


@pytest.fixture(params=["kernel", "tree"])
def ordinary(request: pytest.FixtureRequest) -> OrdinaryEngine:
    return request.getfixturevalue(request.param)


def test_a_kill_leaves_nothing(ordinary: OrdinaryEngine, mark: str) -> None:
    session = ordinary.escapees(*TEN, mark=mark)
    assert len(marked(mark)) > len(TEN)
    steady = [found for found in session["report"]["escapees"] if found["name"] != "hopper"]
    assert {os.stat(f"/proc/{found['pid']}").st_uid for found in steady} == {UID}
    assert os.stat(f"/proc/{ordinary.daemon()[0]}").st_uid == UID
    ended = ordinary.call("kill_session", session=session["id"], force=True, grace="0s")
    assert none_left(mark)
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert ended["certificate"]["guarantee"] == ordinary.guarantee
    listed = {(process["pid"], process["start_ticks"]) for process in ended["certificate"]["processes"]}
    assert {(found["pid"], found["start_ticks"]) for found in steady} <= listed


def test_what_a_kill_proves_is_said_before(ordinary: OrdinaryEngine) -> None:
    assert ordinary.call("get_status")["guarantee"] == ordinary.guarantee
    assert ordinary.call("check_host")["guarantee"] == ordinary.guarantee


def test_a_survivor_is_named_until_it_is_gone(tree: OrdinaryEngine, mark: str) -> None:
    session, survivor = start_with(tree, make_program(tree), mark)
    killed = tree.cli("kill", session, "--force", "--grace", "0", "--json")
    assert killed.returncode == STATUS_SURVIVORS, killed
    told = json.loads(killed.stdout)
    assert told["state"] == "ending"
    assert [(one["pid"], bool(one["why"])) for one in told["certificate"]["survivors"]] == [(survivor, True)]
    assert survivor not in {process["pid"] for process in told["certificate"]["processes"]}
    shown = tree.show(session)
    assert (shown["state"], shown["survivors"]) == ("ending", told["certificate"]["survivors"])
    assert f"{survivor} " in tree.cli("show", session).stdout.partition("SURVIVED: 1 process")[2]
    assert {process.pid for process in marked(mark)} == {survivor}
    os.kill(survivor, signal.SIGKILL)
    assert wait_until(lambda: tree.show(session)["state"] == "ended")
    shown = tree.show(session)
    certificate = shown["ending"]["certificate"]
    assert (certificate["guarantee"], certificate["survivors"], shown["survivors"]) == ("tree", [], [])
    assert survivor in {process["pid"] for process in certificate["processes"]}


def test_a_survivor_in_an_adopted_session(tree: OrdinaryEngine, mark: str) -> None:
    program = make_program(tree)
    with tmux_of(tree) as tmux:
        tmux.prefix = tree.prefix
        tmux.new("work", f"{program} {mark} & exec sleep 300")
        tmux.new("neighbour", "exec sleep 300")
        session = tree.call("adopt_session", target="tmux:work")["id"]
        assert wait_until(lambda: tree.show(session)["processes"] == 2)
        [survivor] = [process.pid for process in marked(mark) if process.cmdline[0] == program]
        killed = tree.call("kill_session", session=session, force=True, grace="0s")
        assert killed["state"] == "ending"
        assert [(one["pid"], bool(one["why"])) for one in killed["certificate"]["survivors"]] == [(survivor, True)]
        tree.kill(tree.daemon())
        again = tree.call("kill_session", session=session, force=True, grace="0s")
        assert [one["pid"] for one in again["certificate"]["survivors"]] == [survivor]
        os.kill(survivor, signal.SIGKILL)
        assert wait_until(lambda: tree.show(session)["state"] == "ended")
        certificate = tree.show(session)["ending"]["certificate"]
        assert (certificate["guarantee"], certificate["survivors"]) == ("best_effort", [])
        assert len(certificate["processes"]) == 2
        assert tmux.sessions() == ["neighbour"]


def test_a_survivor_outlasts_daemon_and_keeper(tree: OrdinaryEngine, mark: str) -> None:
    """The ending that hangs on it is found again, with the survivor in it, and completes."""
    session, survivor = start_with(tree, make_program(tree), mark)
    assert tree.call("end_session", session=session, grace="0s")["state"] == "ending"
    tree.kill(tree.daemon())
    again = tree.call("kill_session", session=session, force=True, grace="0s")
    assert [one["pid"] for one in again["certificate"]["survivors"]] == [survivor]
    tree.kill(tree.keeper())
    assert tree.show(session)["state"] == "ending"
    os.kill(survivor, signal.SIGKILL)
    assert wait_until(lambda: tree.show(session)["state"] == "ended")
    assert [event["action"] for event in tree.events(session)].count("ended") == 1


def test_a_cgroup_of_ones_own_ends_even_roots_process(kernel: OrdinaryEngine, mark: str) -> None:
    session, survivor = start_with(kernel, make_program(kernel), mark)
    ended = kernel.call("kill_session", session=session, force=True, grace="0s")
    assert none_left(mark)
    assert (ended["state"], ended["certificate"]["guarantee"]) == ("ended", "kernel")
    assert survivor in {process["pid"] for process in ended["certificate"]["processes"]}


def test_a_survivor_in_a_cleanup_takes_no_other_row_along(tree: OrdinaryEngine, mark: str) -> None:
    session, survivor = start_with(tree, make_program(tree), mark)
    other = tree.start("sleep", "300", name="other", headless=True)["id"]
    done = tree.cli("cleanup", "*", "--force", "--grace", "0", "--yes", "--json")
    assert done.returncode == STATUS_SURVIVORS, done
    result = json.loads(done.stdout)
    rows = {row["id"]: row for row in result["rows"]}
    assert (rows[session]["outcome"], rows[other]["outcome"]) == ("survived", "ended")
    assert [one["pid"] for one in rows[session]["certificate"]["survivors"]] == [survivor]
    assert (result["sums"]["survived"], result["sums"]["ended"]) == (1, 1)
    os.kill(survivor, signal.SIGKILL)
    assert wait_until(lambda: tree.show(session)["state"] == "ended")
