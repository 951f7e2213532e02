"""The daemon may die at any instant, and so may a keeper and a shim: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.processes import alive, marked, none_left, wait_until


@EVERY_STEP
def test_a_start_survives_death_at_every_step(mortal: Engine, mark: str, every: int) -> None:
    for death in deaths(mortal, every):
        number, name = death.number, f"job-{death.number}"
        death.arm()
        started = mortal.call(
            "start_session",
            key=uuid.uuid4().hex,
            command=["sh", "-c", f"echo {mark}-{number}; exec sleep 300"],
            name=name,
            cwd="/",
        )
        assert started["name"] == name
        mortal.call("wait_session", session=started["id"], until=f"text={mark}-{number}", timeout="120s")
        found = [session for session in mortal.call("list_sessions")["sessions"] if session["name"] == name]
        assert [(session["id"], session["state"], session["pid"]) for session in found] == [
            (started["id"], "running", started["pid"])
        ]
        actions = [event["action"] for event in mortal.events(started["id"])]
        assert actions.count("start") == 1
        assert actions.count("started") == 1
        assert mortal.output(started["id"]).count(mark) == 1
        assert not (mortal.folder / "sessions" / started["id"] / "launch.json").exists()


@EVERY_STEP
@pytest.mark.parametrize("operation", ["end_session", "kill_session"])
def test_an_ending_survives_death_at_every_step(mortal: Engine, mark: str, operation: str, every: int) -> None:
    for death in deaths(mortal, every):
        started = mortal.escapees("deaf", "daemon", mark=mark)
        death.arm()
        arguments = {"force": True} if operation == "kill_session" else {}
        ended = mortal.call(operation, session=started["id"], grace="0.1s", key=uuid.uuid4().hex, **arguments)
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
        assert none_left(mark)
        actions = [event["action"] for event in mortal.events(started["id"])]
        assert actions.count("ended") == 1
        assert actions.count(operation.removesuffix("_session")) == 1


@EVERY_STEP
def test_an_input_that_ends_the_session_survives_death_at_every_step(mortal: Engine, every: int) -> None:
    """It took the input and has ended by the time that the same is asked again: what happened is the answer."""
    for death in deaths(mortal, every):
        number = death.number
        session = mortal.start("sh", "-c", "read x; echo got $x", headless=True)["id"]
        death.arm()
        sent = mortal.call("send_input", session=session, text=f"number {number}", key=uuid.uuid4().hex)
        assert sent["size"] == len(f"number {number}\n")
        assert wait_until(lambda session=session: mortal.show(session)["state"] == "ended")
        assert mortal.output(session) == f"got number {number}\n"


def test_sessions_go_on_without_a_daemon(lit: Engine) -> None:
    session = lit.start("sh", "-c", "i=0; while read line; do i=$((i+1)); echo got $i $line; done")["id"]
    lit.call("send_input", session=session, text="one")
    lit.call("wait_session", session=session, until="text=got 1 one", timeout="120s")
    first = lit.daemon()
    for number in range(2, 6):
        lit.kill(lit.daemon())
        lit.call("send_input", session=session, text="more")
        lit.call("wait_session", session=session, until=f"text=got {number} more", timeout="120s")
    assert lit.daemon() != first
    assert "got 5 more" in lit.call("read_output", session=session)["text"]


def test_the_same_key_acts_once(lit: Engine) -> None:
    key = uuid.uuid4().hex
    session = lit.start("cat", key=key)
    assert lit.start("cat", key=key) == session
    for _ in range(3):
        sent = lit.call("send_input", session=session["id"], text="hello", key="k1")
    lit.kill(lit.daemon())
    assert lit.call("send_input", session=session["id"], text="hello", key="k1") == sent
    lit.call("send_input", session=session["id"], text="done", key="k2")
    lit.call("wait_session", session=session["id"], until="text=done", timeout="120s")
    assert lit.output(session["id"]).count("hello") == 2  # the echo and cat
    with pytest.raises(LampError, match="another call"):
        lit.call("send_input", session=session["id"], text="other", key="k1")


def test_a_killed_keeper_takes_nothing_along(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    old = lit.keeper()
    lit.kill(old)
    lit.call("send_input", session=session, text="still here")
    lit.call("wait_session", session=session, until="text=still here", timeout="120s")
    second = lit.start("cat")["id"]
    assert lit.keeper() != old
    assert lit.call("kill_session", session=session, force=True)["certificate"]["guarantee"] in ("kernel", "tree")
    assert lit.call("kill_session", session=second, force=True)["certificate"]["survivors"] == []


def test_daemon_and_keeper_killed_together(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    lit.kill(lit.keeper())
    lit.kill(lit.daemon())
    lit.call("send_input", session=session, text="still here")
    lit.call("wait_session", session=session, until="text=still here", timeout="120s")


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_a_killed_shim_is_replaced(both: Engine, mark: str, headless: bool) -> None:
    """Its session goes on under the keeper's duplicate; its end is then best effort, and leaves nothing all the same."""
    session = both.escapees("setsid", "daemon", mark=mark, headless=headless)
    main = session["report"]["main"]
    both.kill(both.shim(session["id"]))
    assert wait_until(lambda: both.show(session["id"])["holder_lost"])
    assert alive(main["pid"], main["start_ticks"])
    assert {process.pid for process in marked(mark)} >= {
        main["pid"],
        *(found["pid"] for found in session["report"]["escapees"]),
    }
    ended = both.call("kill_session", session=session["id"], force=True, grace="0s")
    assert ended["certificate"]["guarantee"] == "best_effort"
    assert none_left(mark)


def test_a_killed_shim_loses_no_output_and_no_exit(lit: Engine) -> None:
    """Killed between two bursts: what a shim has read and not yet written when it is killed nobody can get back."""
    count = "for i in $(seq $1 $2); do echo line $i; done"
    script = f"f() {{ {count}; }}; f 1 10000; read x; f 10001 20000; read x; echo bye $x; exit 5"
    session = lit.start("sh", "-c", script)["id"]
    lit.call("wait_session", session=session, until="text=line 10000\r\n", timeout="120s")
    lit.kill(lit.shim(session))
    lit.call("send_input", session=session, text="on")
    lit.call("wait_session", session=session, until="text=line 20000", timeout="120s")
    lit.call("send_input", session=session, text="now")
    waited = lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert waited["exit"] == {"code": 5}
    text = lit.call("read_output", session=session, mode="output", limit=1 << 23)["text"]
    lines = [line for line in text.splitlines() if line.startswith("line")]
    assert lines == [f"line {number}" for number in range(1, 20001)]
    assert "bye now" in text


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_what_a_lost_shim_was_given_is_not_typed_again(lit: Engine, headless: bool) -> None:
    """Asked again with the same key, whoever is in its place says that it is not known; a new key is typed."""
    session = lit.start("sh", "-c", "while read x; do echo got $x; done", headless=headless)["id"]
    lit.call("send_input", key="first", session=session, text="one")
    lit.call("wait_session", session=session, until="text=got one", timeout="120s")
    lit.kill(lit.shim(session))
    assert wait_until(lambda: lit.show(session)["holder_lost"])
    lit.kill(lit.daemon())
    with closing(sqlite3.connect(lit.home.database, timeout=200)) as db, db:  # as if it had died before the answer came
        db.execute("UPDATE calls SET state = 'claimed', result = NULL WHERE key = 'first'")
    with pytest.raises(LampError, match="whether this was typed is not known") as caught:
        lit.call("send_input", key="first", session=session, text="one")
    assert caught.value.code is Code.OUTCOME_UNKNOWN
    for _ in range(2):
        lit.call("send_input", key="second", session=session, text="two")
    lit.call("send_input", session=session, text="three")
    lit.call("wait_session", session=session, until="text=got three", timeout="120s")
    assert [line for line in lit.output(session).split("\n") if line.startswith("got")] == [
        f"got {word}" + ("" if headless else "\r") for word in ("one", "two", "three")
    ]


def test_a_send_whose_shim_is_lost_before_it_looks_goes_to_the_next(lit: Engine) -> None:
    session = lit.start("sh", "-c", "while read x; do echo got $x; done", headless=True)["id"]
    shim = lit.shim(session)
    os.kill(shim[0], signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool, closing(sqlite3.connect(lit.home.database, timeout=200)) as db:
        sent = pool.submit(lit.call, "send_input", key="sent", session=session, text="one")
        assert wait_until(lambda: db.execute("SELECT 1 FROM calls WHERE key = 'sent'").fetchone())
        lit.call("get_status")
        lit.kill(shim)
        assert sent.result(120)["size"] == 4
    lit.call("wait_session", session=session, until="text=got one", timeout="120s")
    assert lit.output(session) == "got one\n"


def test_a_send_whose_line_breaks_again_and_again_is_typed_once(lit: Engine) -> None:
    """A shim that is being killed may still take the next line, and the one after that. Here somebody else does, and lets go."""
    session = lit.start("sh", "-c", "while read x; do echo got $x; done", headless=True)["id"]
    shim, keeper, path = lit.shim(session), lit.keeper(), f"{lit.home.run}/s/{session}.sock"
    os.kill(shim[0], signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool, closing(sqlite3.connect(lit.home.database, timeout=200)) as db:
        sent = pool.submit(lit.call, "send_input", key="sent", session=session, text="one")
        assert wait_until(lambda: db.execute("SELECT 1 FROM calls WHERE key = 'sent'").fetchone())
        lit.call("get_status")
        os.kill(keeper[0], signal.SIGSTOP)
        try:
            os.unlink(path)
            with socket.socket(socket.AF_UNIX) as other:
                other.bind(path)
                other.listen()
                other.settimeout(120)
                os.kill(shim[0], signal.SIGKILL)
                for _ in range(3):
                    line, _ = other.accept()
                    with line:
                        line.settimeout(120)
                        assert b'"input"' in line.recv(1 << 16)
            os.unlink(path)
        finally:
            os.kill(keeper[0], signal.SIGCONT)
        assert sent.result(120)["size"] == 4
    lit.call("wait_session", session=session, until="text=got one", timeout="120s")
    assert lit.output(session) == "got one\n"


def test_shim_and_keeper_both_killed(lit: Engine, mark: str) -> None:
    """Nobody holds it any more: its end is recorded with what is known, and what can be traced of it is ended."""
    session = lit.escapees("setsid", "daemon", mark=mark)
    lit.kill(lit.keeper())
    lit.call("get_status")
    os.kill(lit.shim(session["id"])[0], signal.SIGKILL)
    assert wait_until(lambda: lit.show(session["id"])["holder_lost"] or lit.show(session["id"])["state"] == "ended")
    lit.call("kill_session", session=session["id"], force=True, grace="0s")
    assert none_left(mark)


def test_a_reboot_ends_what_ran(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    lit.call("kill_session", session=session, force=True)
    lit.call("stop_daemon")


def test_no_event_is_missing_after_a_crash(lit: Engine) -> None:
    for _ in range(3):
        lit.start("true")
        lit.kill(lit.daemon())
    assert wait_until(lambda: not lit.call("list_sessions")["sessions"])
    numbers = [event["n"] for event in lit.events()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [event["action"] for event in lit.events()].count("ended") == 3
