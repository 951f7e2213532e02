"""A kill leaves nothing: every escapee, alone and all together, on each path and with each driver."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.engine import ESCAPEES, Engine
from tests.support.processes import marked, none_left, wait_until

pytestmark = pytest.mark.shared

TEN = [
    "nohup",
    "deaf",
    "stopped",
    "background",
    "orphan",
    "setsid",
    "setsid-scrubbed",
    "daemon",
    "daemon-scrubbed",
    "leaderless",
    "hopper",
]
STEADY = [name for name in TEN if name != "hopper"]


def check_certificate(
    ended: dict[str, Any], guarantee: str, expected: set[tuple[int, int]], moving: bool = False
) -> None:
    certificate = ended["certificate"]
    assert ended["state"] == "ended"
    assert certificate["guarantee"] == guarantee
    assert certificate["survivors"] == []
    listed = {(process["pid"], process["start_ticks"]) for process in certificate["processes"]}
    assert expected <= listed
    for process in certificate["processes"]:
        assert process["command"]
        assert process["signal"] or "code" in process or moving  # one that hops may leave by itself between two looks
        assert process["seconds"] >= 0
        assert process["started"].endswith("Z")


@pytest.mark.parametrize("headless", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["terminal", "headless"])
@pytest.mark.parametrize("name", [*TEN, "bomb"])
def test_each_escapee_alone(both: Engine, mark: str, name: str, headless: bool) -> None:
    session = both.escapees(name, mark=mark, headless=headless)
    before = {(process.pid, process.start_ticks) for process in marked(mark)}
    assert len(before) >= 2
    ended = both.call("kill_session", session=session["id"], force=True, grace="0s")
    assert none_left(mark)
    moving = name in ("hopper", "bomb")
    check_certificate(ended, both.guarantee, set() if moving else before, moving)
    assert len(ended["certificate"]["processes"]) >= (300 if name == "bomb" else 2)


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_all_together_with_a_grace(both: Engine, mark: str, headless: bool) -> None:
    session = both.escapees("all", mark=mark, headless=headless)
    before = {(process.pid, process.start_ticks) for process in marked(mark)}
    ended = both.call("kill_session", session=session["id"], force=True, grace="0.3s")
    assert none_left(mark)
    steady = {
        (found["pid"], found["start_ticks"]) for found in session["report"]["escapees"] if found["name"] in STEADY
    }
    assert steady <= before
    check_certificate(ended, both.guarantee, steady, moving=True)


def test_what_exits_by_itself_leaves_nothing_either(both: Engine, mark: str) -> None:
    report = both.folder / "report"
    session = both.start(
        "python3",
        ESCAPEES,
        *TEN,
        "--mark",
        mark,
        "--report",
        str(report),
        "--exit",
        "7",
    )
    waited = both.call("wait_session", session=session["id"], until="ended", timeout="120s")
    assert waited["exit"] == {"code": 7}
    assert none_left(mark)
    shown = both.show(session["id"])
    assert shown["how"] == "exited"
    assert shown["ending"]["certificate"]["guarantee"] == both.guarantee
    assert len(shown["ending"]["certificate"]["processes"]) >= len(STEADY)


def test_children_are_kept_when_asked_for(both: Engine, mark: str) -> None:
    script = [sys.executable, ESCAPEES, "setsid", "daemon", "--mark", mark, "--exit", "3"]
    session = both.start(*script, keep_children=True)["id"]
    assert wait_until(
        lambda: both.show(session)["evidence"][:1] == ["its command has exited, its children have not"], 30
    )
    assert len(marked(mark)) == 2
    assert both.show(session)["state"] == "running"
    assert [event["action"] for event in both.events(session)] == ["start", "started", "exited"]
    ended = both.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["exit"], ended["certificate"]["guarantee"]) == ({"code": 3}, both.guarantee)
    assert none_left(mark)


def test_a_polite_end_asks_first(both: Engine) -> None:
    session = both.start("cat")
    ended = both.call("end_session", session=session["id"], reason="enough")
    assert (ended["how"], ended["exit"], ended["reason"]) == ("asked", {"code": 0}, "enough")
    (process,) = ended["certificate"]["processes"]
    assert (process["pid"], process["command"], process["signal"], process["code"]) == (session["pid"], "cat", None, 0)


def test_one_that_leaves_when_asked_was_asked_whatever_it_left_behind(both: Engine, mark: str) -> None:
    """What it left is killed, as the certificate says; it was not."""
    session = both.start("bash", "-c", f"setsid sh -c 'echo apart; sleep 600; : {mark}' & cat")["id"]
    both.call("wait_session", session=session, until="text=apart", since=0)  # before, the end of its terminal ends it
    ended = both.call("end_session", session=session)
    assert (ended["how"], ended["exit"]) == ("asked", {"code": 0})
    assert sorted(str(process["signal"]) for process in ended["certificate"]["processes"])[0] == "KILL"
    assert none_left(mark)


def test_one_that_leaves_only_at_term_was_terminated_whatever_its_exit(both: Engine) -> None:
    session = both.start("bash", "-c", "trap 'exit 0' TERM; echo up; while true; do sleep 0.05; done")["id"]
    assert wait_until(lambda: "up" in both.output(session))
    ended = both.call("end_session", session=session)
    assert (ended["how"], ended["exit"]) == ("terminated", {"code": 0})


def test_many_trees_at_once(both: Engine, mark: str) -> None:
    """Killed together, from as many connections, while others start."""
    sessions = [both.escapees(*TEN, mark=mark)["id"] for _ in range(8)]
    with ThreadPoolExecutor(16) as pool:
        killed = [
            pool.submit(both.call, "kill_session", session=session, force=True, grace="0s") for session in sessions
        ]
        started = [pool.submit(both.start, "cat") for _ in range(8)]
        assert all(job.result()["state"] == "ended" for job in killed)
        living = {job.result()["id"] for job in started}
    assert none_left(mark)
    assert {session["id"] for session in both.call("list_sessions")["sessions"]} == living
