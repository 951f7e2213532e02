"""The daemon killed in the middle of an apply: what was applied stays so, the rest is neither lost nor done twice."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, answer, engine, send
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.processes import none_left, wait_until

HERE = Path(__file__).parent


def jobs(made: Engine, number: int, mark: str, count: int = 2) -> list[str]:
    """Some that are idle, each with a child that has the mark."""
    script = f"exec 3<&0; sh -c 'cat; : {mark}' <&3 & cat"
    found = [made.start("sh", "-c", script, name=f"job-{number}-{one}", headless=True)["id"] for one in range(count)]
    chosen = f"idle,job-{number}-*"
    assert wait_until(lambda: len(made.call("list_sessions", selection=chosen)["sessions"]) == count)
    return found


def plan(made: Engine, selection: str, **arguments: Any) -> str:
    return made.call("cleanup_sessions", selection=selection, grace="0.1s", **arguments)["plan"]


def ended_once(made: Engine, sessions: list[str]) -> bool:
    for session in sessions:
        actions = [event["action"] for event in made.events(session)]
        assert actions.count("end") == actions.count("ended") == 1, actions
    return True


@EVERY_STEP
def test_an_apply_survives_death_at_every_step(mortal: Engine, mark: str, every: int) -> None:
    for death in deaths(mortal, every, least=10):
        number = death.number
        sessions = jobs(mortal, number, mark)
        made = plan(mortal, f"job-{number}-*", force=number % 4 > 1)
        death.arm()
        done = mortal.call("cleanup_sessions", apply=made, key=uuid.uuid4().hex)
        assert [(row["id"], row["outcome"]) for row in done["rows"]] == [(session, "ended") for session in sessions]
        assert all(row["certificate"]["survivors"] == [] for row in done["rows"])
        assert ended_once(mortal, sessions)
        told = [event["action"] for event in mortal.events() if event["detail"].get("plan") == made]
        assert told == ["plan", "apply", "applied"]
    assert none_left(mark)


@EVERY_STEP
def test_what_nobody_asks_for_again_is_finished_by_the_next_daemon(mortal: Engine, mark: str, every: int) -> None:
    """Asked once; the daemon dies; nobody asks again. From the step on at which the intent is written, all is done."""
    for death in deaths(mortal, 2 * every, least=10):
        number = death.number
        sessions = jobs(mortal, number, mark)
        made, key = plan(mortal, f"job-{number}-*"), uuid.uuid4().hex
        death.arm()
        with suppress(ConnectionError), mortal.connect() as sock:
            send(sock, "cleanup_sessions", key, {"apply": made})
            answer(sock)
        begun = any(event["action"] == "apply" and event["detail"]["plan"] == made for event in mortal.events())
        if begun:
            assert wait_until(lambda sessions=sessions: _all_ended(mortal, sessions))
        else:
            assert all(mortal.show(session)["state"] == "running" for session in sessions), "nothing without its intent"
            mortal.call("cleanup_sessions", apply=made, key=key)
        assert ended_once(mortal, sessions)
        done = mortal.call("cleanup_sessions", apply=made, key=key)
        assert done["sums"]["ended"] == len(sessions), "the same key still tells it all"
        with pytest.raises(LampError) as caught:
            mortal.call("cleanup_sessions", apply=made)
        assert caught.value.code is Code.PLAN_APPLIED
    assert none_left(mark)


def _all_ended(made: Engine, sessions: list[str]) -> bool:
    return all(made.show(session)["state"] == "ended" for session in sessions)


def test_the_daemon_killed_again_and_again(mortal: Engine, mark: str) -> None:
    """Forty rows and a death after every few steps."""
    sessions = jobs(mortal, 0, mark, 40)
    made, key = plan(mortal, "job-*"), uuid.uuid4().hex
    for steps in (8, 20, 33, 50, 70):
        (mortal.folder / "die-at").write_text(str(steps))
        with suppress(ConnectionError), mortal.connect() as sock:
            send(sock, "cleanup_sessions", key, {"apply": made})
            answer(sock)
    with suppress(FileNotFoundError):
        (mortal.folder / "die-at").unlink()
    done = mortal.call("cleanup_sessions", apply=made, key=key)
    assert done["sums"]["ended"] == 40
    assert ended_once(mortal, sessions)
    assert none_left(mark)


@pytest.mark.timeout(240)
@EVERY_STEP
def test_what_is_left_out_is_left_alone_also_by_the_next_daemon(mortal: Engine, mark: str, every: int) -> None:
    """Asked once, with a row left out; the daemon dies, and the next one goes on by itself."""
    for death in deaths(mortal, 3 * every, least=6):
        ended, kept = jobs(mortal, death.number, mark)
        made, key = plan(mortal, f"job-{death.number}-*"), uuid.uuid4().hex
        death.arm()
        with suppress(ConnectionError), mortal.connect() as sock:
            send(sock, "cleanup_sessions", key, {"apply": made, "without": [kept]})
            answer(sock)
        if any(event["action"] == "apply" and event["detail"]["plan"] == made for event in mortal.events()):
            assert wait_until(lambda ended=ended: _all_ended(mortal, [ended]))
        done = mortal.call("cleanup_sessions", apply=made, key=key, without=[kept])
        told = {row["id"]: (row["outcome"], row["why"]) for row in done["rows"]}
        assert told[ended][0] == "ended"
        assert told[kept] == ("skipped", "left out by the operator")
        assert [event["action"] for event in mortal.events(kept)].count("end") == 0
        assert ended_once(mortal, [ended])
        mortal.call("kill_session", session=kept, force=True, grace="0s")
    assert none_left(mark)


@pytest.mark.parametrize(("away", "outcome"), [(60, "ended"), (86400, "skipped"), (-86400, "skipped")])
def test_an_apply_that_was_cut_off_long_ago_begins_with_nothing_new(away: int, outcome: str) -> None:
    """A daemon that was down for a day, or whose clock was set back by one, leaves alone what it had not begun with."""
    with engine(PYTHONPATH=FOLDER, LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        session = made.start("sleep", "300", name="one", headless=True)["id"]
        of = plan(made, "*", force=True)
        with closing(sqlite3.connect(made.home.database)) as db, db:  # as it is right after the intent was written
            begun = "UPDATE plans SET state = 'applying', applied_at = made_at, orders = json_set(orders, '$.key', 'k')"
            db.execute(f"{begun} WHERE id = ?", (of,))
        db.close()
        Clockwork(made.folder).jump(away)
        made.kill(made.daemon())
        row = made.call("cleanup_sessions", apply=of, key="k")["rows"][0]
        assert row["outcome"] == outcome
        assert made.show(session)["state"] == ("ended" if outcome == "ended" else "running")
        assert outcome == "ended" or row["why"] == "the apply was cut off too long ago"


@pytest.mark.parametrize("lost", ["shim", "keeper", "both and the daemon"])
def test_holders_killed_during_an_apply(lit: Engine, mark: str, lost: str) -> None:
    """The row of a session that loses its holder on the way is told as every other, and nothing of it is left."""
    deaf = f"trap '' TERM HUP; echo up; while :; do sleep 0.1; done; : {mark}"
    sessions = [lit.start("sh", "-c", deaf, name=f"deaf-{number}", headless=True)["id"] for number in range(3)]
    for session in sessions:
        lit.call("wait_session", session=session, until="text=up", timeout="120s")
    made = lit.call("cleanup_sessions", selection="deaf-*", force=True, grace="3s")["plan"]
    with lit.connect() as sock:
        send(sock, "cleanup_sessions", "k", {"apply": made})
        assert wait_until(lambda: all(lit.show(session)["state"] == "ending" for session in sessions))
    if lost != "keeper":
        lit.kill(lit.shim(sessions[0]))
    if lost != "shim":
        lit.kill(lit.keeper())
    if "daemon" in lost:
        lit.kill(lit.daemon())
    done = lit.call("cleanup_sessions", apply=made, key="k")
    assert [row["outcome"] for row in done["rows"]] == ["ended"] * 3
    assert ended_once(lit, sessions)
    assert none_left(mark)
