"""Long, repeated and randomised: races, a thousand sessions, and any text at all. `test_chaos` has the deaths under load.

The random numbers come from LAMPLIGHTER_TEST_SEED, which a failure prints.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.errors import Code, LampError
from lamplighter.testing.engine import Engine
from lamplighter.testing.escapees import ESCAPEES
from lamplighter.testing.processes import marked, none_left, wait_until

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

TEN = [name for name in ESCAPEES if name not in ("plain", "bomb")]
ROUNDS = 20


@pytest.mark.parametrize("names", [TEN, ["bomb"], [*TEN, "bomb"]], ids=["ten", "bomb", "both"])
def test_a_kill_leaves_nothing_again_and_again(
    both: Engine, mark: str, chance: random.Random, names: list[str]
) -> None:
    for number in range(ROUNDS):
        session = both.escapees(*names, mark=mark, headless=chance.random() < 0.5)
        before = {
            (found["pid"], found["start_ticks"])
            for found in session["report"]["escapees"]
            if found["name"] not in ("hopper", "bomb")
        }
        assert before <= {(process.pid, process.start_ticks) for process in marked(mark)}
        grace = chance.choice(["0s", "0.05s", "0.3s"])
        ended = both.call("kill_session", session=session["id"], force=True, grace=grace)
        assert none_left(mark), (number, grace)
        certificate = ended["certificate"]
        assert (ended["state"], certificate["guarantee"], certificate["survivors"]) == ("ended", both.guarantee, [])
        assert before <= {(process["pid"], process["start_ticks"]) for process in certificate["processes"]}


def test_a_thousand_sessions(lit: Engine, mark: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = list(
            pool.map(lambda _: lit.start("sh", "-c", f"exec cat # {mark}", headless=True)["id"], range(1000))
        )
    assert len(set(started)) == 1000
    listed = lit.call("list_sessions", limit=10_000)["sessions"]
    assert {session["id"] for session in listed} == set(started)
    assert {session["state"] for session in listed} == {"running"}
    down = lit.cli("down", "--all", "--yes", timeout=300)
    assert down.returncode == 0, down.stderr
    assert none_left(mark)
    assert lit.call("list_sessions")["sessions"] == []
    ended = lit.call("list_sessions", all=True, limit=10_000)["sessions"]
    assert {session["id"] for session in ended} == set(started)
    assert {session["state"] for session in ended} == {"ended"}


def test_short_sessions_at_once(both: Engine, chance: random.Random) -> None:
    """Some are over before their start is confirmed; each has its own exit status all the same."""
    codes = [chance.choice([0, 1, chance.randrange(2, 256)]) for _ in range(200)]

    def run(code: int) -> dict[str, Any]:
        command = {0: ("true",), 1: ("false",)}.get(code, ("sh", "-c", f"exit {code}"))
        session = both.start(*command, headless=code % 2 == 0)["id"]
        return both.call("wait_session", session=session, timeout="60s")

    with ThreadPoolExecutor(8) as pool:
        assert [waited["exit"] for waited in pool.map(run, codes)] == [{"code": code} for code in codes]
    ends = [
        event["session"] for event in both.call("list_events", limit=100_000)["events"] if event["action"] == "ended"
    ]
    assert len(ends) == len(set(ends)) == 200


def test_a_kill_during_a_start(both: Engine, mark: str, chance: random.Random) -> None:
    """By name, at any moment from before the session exists until after its start was answered."""
    for number in range(100):
        name = f"race-{number}"
        delay = chance.uniform(0, 0.02)
        with ThreadPoolExecutor(2) as pool:
            starting = pool.submit(both.start, "sh", "-c", f"setsid sleep 300 {mark} & exec sleep 300", name=name)
            killing = pool.submit(_kill_by_name, both, name, delay)
            ended = killing.result()
            answered = _outcome(starting.result)
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", []), (number, delay)
        assert none_left(mark), (number, delay)
        assert both.show(ended["id"])["state"] == "ended"
        if isinstance(answered, LampError):
            assert answered.code in (Code.START_FAILED, Code.ENDED), (answered.code, answered.message)
        else:
            assert answered["id"] == ended["id"]
        actions = [event["action"] for event in both.events(ended["id"])]
        assert (actions.count("start"), actions.count("ended")) == (1, 1), actions


def _kill_by_name(lit: Engine, name: str, delay: float) -> dict[str, Any]:
    threading.Event().wait(delay)
    found: list[dict[str, Any]] = []

    def kill() -> bool:
        try:
            found.append(lit.call("kill_session", session=name, force=True, grace="0s"))
        except LampError as error:
            assert error.code is Code.NOT_FOUND, error.message
        return bool(found)

    assert wait_until(kill)
    return found[0]


def _outcome(act: Callable[[], dict[str, Any]]) -> dict[str, Any] | LampError:
    try:
        return act()
    except LampError as error:
        return error


def test_many_callers_get_one_ending(both: Engine, mark: str, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        session = both.escapees("deaf", "daemon", "setsid", mark=mark)["id"]
        calls = [("end_session", {}), ("end_session", {}), *[("kill_session", {"force": True})] * 3]
        chance.shuffle(calls)

        def ask(call: tuple[str, dict[str, Any]], session: str = session) -> dict[str, Any]:
            threading.Event().wait(chance.uniform(0, 0.02))
            return both.call(call[0], session=session, grace="0.1s", **call[1])

        with ThreadPoolExecutor(len(calls)) as pool:
            answers = list(pool.map(ask, calls))
        assert none_left(mark)
        assert [answer["state"] for answer in answers] == ["ended"] * len(calls)
        assert all(answer == answers[0] for answer in answers), answers
        assert [event["action"] for event in both.events(session)].count("ended") == 1


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_any_text_arrives_byte_for_byte(lit: Engine, headless: bool) -> None:
    target = lit.folder / "typed"
    script = f"stty raw -echo 2>/dev/null; echo on; exec cat > {target}"
    session = lit.start("sh", "-c", script, headless=headless)["id"]
    lit.call("wait_session", session=session, until="text=on", timeout="10s")
    typed = bytearray()

    @settings(max_examples=400, deadline=None, database=None)
    @given(st.text(min_size=1, max_size=2000), st.booleans())
    def arrives(text: str, enter: bool) -> None:
        typed.extend(text.encode())
        typed.extend((b"\n" if headless else b"\r") if enter else b"")
        sent = lit.call("send_input", session=session, text=text, enter=enter, key=uuid.uuid4().hex)
        assert sent["size"] == len(text.encode()) + enter
        assert wait_until(lambda: target.stat().st_size >= len(typed))
        assert target.read_bytes() == typed

    arrives()
