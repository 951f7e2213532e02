"""Logical sessions: alive by a lease and by nothing else; listed, judged and ended as others are; never talked to."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import Any

import pytest

from lamplighter.errors import LampError
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

HOUR = 3600.0
_MANY = 30
Timed = tuple[Engine, Clockwork]


def begin(lit: Engine, name: str = "teller", **arguments: Any) -> str:
    return lit.call("start_logical", name=name, cwd="/", **arguments)["id"]


def actions(lit: Engine, session: str) -> list[str]:
    return [event["action"] for event in lit.events(session)]


def refusal(lit: Engine, operation: str, **arguments: Any) -> LampError:
    with pytest.raises(LampError) as refused:
        lit.call(operation, **arguments)
    return refused.value


def test_it_is_listed_judged_and_ended_with_a_certificate_of_nothing(lit: Engine) -> None:
    session = begin(lit, "a name, with 'everything'")
    (row,) = lit.call("list_sessions", selection="driver:logical")["sessions"]
    assert (row["id"], row["state"], row["pid"], row["processes"], row["command"]) == (session, "running", None, 0, [])
    assert row["verdict"] == "unknown"
    assert row["evidence"][0].startswith("logical: no process of it is held here; it last spoke ")
    assert row["last_input_at"] is not None
    assert lit.call("list_sessions", selection="mine")["sessions"][0]["id"] == session
    assert lit.show(session)["guarantee"] == "best_effort"
    assert lit.cli("ls").returncode == lit.cli("show", session).returncode == lit.cli("tree").returncode == 0
    ended = lit.call("end_session", session=session, reason="done")
    assert (ended["state"], ended["how"], ended["reason"], ended["exit"]) == ("ended", "asked", "done", None)
    certificate = ended["certificate"]
    assert (certificate["guarantee"], certificate["processes"], certificate["survivors"]) == ("best_effort", [], [])
    assert lit.call("end_session", session=session, reason="again")["reason"] == "done"
    assert [actions(lit, session).count(action) for action in ("start", "end", "ended")] == [1, 1, 1]
    assert lit.call("list_sessions")["sessions"] == []


def test_names_are_made_free(lit: Engine) -> None:
    names = [lit.call("start_logical", name="agent one", cwd="/")["name"] for _ in range(3)]
    assert names == ["agent-one", "agent-one-2", "agent-one-3"]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("send_input", {"text": "hello"}),
        ("read_output", {}),
        ("read_output", {"mode": "output"}),
        ("attach_session", {}),
        ("wait_session", {"until": "text=x", "timeout": "1s"}),
    ],
)
def test_there_is_nothing_to_talk_to(lit: Engine, operation: str, arguments: dict[str, Any]) -> None:
    session = begin(lit)
    error = refusal(lit, operation, session=session, **arguments)
    assert error.code == "NOT_ATTACHABLE"
    assert "is a logical session" in error.message
    lit.call("end_session", session=session)
    assert refusal(lit, operation, session=session, **arguments).code == "NOT_ATTACHABLE"
    assert lit.call("read_history", session=session)["kept"] is False


def test_a_kill_needs_force_while_it_may_be_at_work(timed: Timed) -> None:
    lit, clock = timed
    session = begin(lit)
    assert refusal(lit, "kill_session", session=session).code == "ACTIVE"
    clock.advance(HOUR)
    shown = lit.show(session)
    assert (shown["verdict"], shown["quiet_for"] >= HOUR) == ("idle", True)
    killed = lit.call("kill_session", session=session)
    assert (killed["state"], killed["certificate"]["processes"]) == ("ended", [])
    other = begin(lit)
    assert lit.call("kill_session", session=other, force=True)["state"] == "ended"


def test_a_cleanup_takes_it_and_waiting_ends_with_it(timed: Timed) -> None:
    lit, clock = timed
    session, kept = begin(lit), begin(lit, "kept")
    lit.call("protect_session", session=kept)
    clock.advance(HOUR)
    plan = lit.call("cleanup_sessions", selection="idle,driver:logical")
    assert [row["id"] for row in plan["rows"]] == [session]
    lit.call("hand_off", session=session, checkpoint="at it again")
    applied = lit.call("cleanup_sessions", apply=plan["plan"])
    assert [row["outcome"] for row in applied["rows"]] == ["skipped"]
    clock.advance(HOUR)
    plan = lit.call("cleanup_sessions", selection="idle,driver:logical")
    applied = lit.call("cleanup_sessions", apply=plan["plan"])
    assert [row["outcome"] for row in applied["rows"]] == ["ended"]
    assert lit.call("wait_session", session=session, until="ended", timeout="120s")["met"] == "ended"
    assert lit.call("wait_session", session=kept, until="idle", timeout="120s")["met"] == "idle"


def test_it_ends_when_its_lease_runs_out(timed: Timed) -> None:
    lit, clock = timed
    session, longer = begin(lit), begin(lit, "longer", lease="3d")
    protected = begin(lit, "protected")
    lit.call("protect_session", session=protected)
    clock.advance(23 * HOUR)
    assert lit.show(session)["state"] == "running"
    clock.jump(1000 * HOUR)  # somebody sets the clock: no time has passed
    clock.jump(-1000 * HOUR)
    clock.suspend(100 * HOUR)  # nor did it while the machine slept
    begin(lit, "witness", lease="0.001s")
    assert wait_until(lambda: "expire" in [event["action"] for event in lit.events()])
    assert lit.show(session)["state"] == "running"
    clock.advance(2 * HOUR)
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    ending = lit.show(session)["ending"]
    assert (ending["how"], ending["by"], ending["reason"]) == ("lost", "lamplighter", "its lease ran out")
    assert [lit.show(one)["state"] for one in (longer, protected)] == ["running", "running"]


def test_a_handoff_renews_its_lease(timed: Timed) -> None:
    lit, clock = timed
    session, silent = begin(lit), begin(lit, "silent")
    clock.advance(20 * HOUR)
    lit.call("hand_off", session=session, checkpoint="half way")
    clock.advance(5 * HOUR)
    assert wait_until(lambda: lit.show(silent)["state"] == "ended")
    assert lit.show(session)["state"] == "running"


def test_it_is_gone_on_from_as_any_other_is(lit: Engine) -> None:
    session = begin(lit)
    lit.call("end_session", session=session, checkpoint="the pump is off", succession_policy="successor_required")
    assert [row["session"] for row in lit.call("list_handoffs", waiting=True)["handoffs"]] == [session]
    after = lit.start("cat", from_session=session)["id"]
    assert [one["id"] for one in lit.call("get_lineage", session=session)["generations"]] == [session, after]
    assert lit.call("list_handoffs", waiting=True)["handoffs"] == []
    lit.call("kill_session", session=after, force=True, grace="0s")


def test_a_restart_and_a_reboot_do_not_end_it(timed: Timed) -> None:
    lit, clock = timed
    session = begin(lit)
    lit.kill(lit.daemon())
    assert (lit.show(session)["state"], lit.show(session)["guarantee"]) == ("running", "best_effort")
    lit.call("stop_daemon")
    assert wait_until(lambda: not lit.home.run or _is_down(lit))
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute("UPDATE sessions SET boot = 'before', facts = json_set(facts, '$.lease.spoke.boot', 'before')")
    assert lit.show(session)["state"] == "running"
    clock.jump(25 * HOUR)  # of the time between two boots the wall clock alone tells
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    assert lit.show(session)["ending"]["reason"] == "its lease ran out"


def _is_down(lit: Engine) -> bool:
    from lamplighter.holder import boot

    found = boot.try_connect(lit.home.run, lit.home.state)
    if found is not None:
        found.close()
    return found is None


@EVERY_STEP
def test_the_daemon_dies_at_every_step(mortal: Engine, every: int) -> None:
    """Started once and ended once, whatever dies in between; a key asked again gets the same."""
    mortal.call("get_status")
    for death in deaths(mortal, 2 * every - 1):
        death.arm()
        arguments: dict[str, Any] = {"name": "s", "cwd": "/", "key": f"start-{death.number}"}
        session = mortal.call("start_logical", **arguments)["id"]
        ended = mortal.call("end_session", session=session, reason="done", key=f"end-{death.number}")
        assert (ended["state"], ended["reason"]) == ("ended", "done")
        assert mortal.call("start_logical", **arguments)["id"] == session
        found = actions(mortal, session)
        assert [found.count(action) for action in ("start", "end", "ended")] == [1, 1, 1]
        assert ended["handoff"]["source"] == "inferred"
    assert mortal.call("list_sessions")["sessions"] == []


def test_an_owner_has_so_many_and_no_more() -> None:
    with engine(LAMPLIGHTER_SESSIONS_PER_OWNER="2") as lit:
        first = begin(lit)
        begin(lit)
        assert refusal(lit, "start_logical", name="x", cwd="/").code == "TOO_MANY"
        lit.call("end_session", session=first)
        begin(lit)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"name": "x", "lease": "0s"}, "BAD_INPUT"),
        ({"name": "x", "lease": "soon"}, "BAD_INPUT"),
        ({"name": ""}, "BAD_INPUT"),
        ({"name": "x", "cwd": "/nowhere"}, "NO_SUCH_FOLDER"),
        ({"name": "x", "project": "a,b"}, "BAD_NAME"),
    ],
)
def test_bad_input_changes_nothing(lit: Engine, arguments: dict[str, Any], code: str) -> None:
    assert refusal(lit, "start_logical", **{"cwd": "/", **arguments}).code == code
    assert lit.call("list_sessions")["sessions"] == []


@pytest.mark.alone
def test_many_begin_and_end_twice_at_once_while_the_daemon_dies(lit: Engine) -> None:
    lit.call("get_status")
    begun: dict[int, set[str]] = {number: set() for number in range(_MANY)}
    faults: list[Exception] = []

    def work(half: int) -> None:
        try:
            for number in range(_MANY):
                session = lit.call("start_logical", name="many", cwd="/", key=f"start-{number}")["id"]
                begun[number].add(session)
                lit.call("end_session", session=session, key=f"end-{number}-{half}", reason=f"by {half}")
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(half,)) for half in (0, 1)]
    for thread in threads:
        thread.start()
    for enough in (8, 20):
        assert wait_until(lambda least=enough: sum(map(bool, begun.values())) >= least)
        lit.kill(lit.daemon())
    for thread in threads:
        thread.join(120)
    assert faults == []
    assert {len(found) for found in begun.values()} == {1}
    shown = lit.call("list_sessions", all=True)["sessions"]
    assert (len(shown), {row["state"] for row in shown}) == (_MANY, {"ended"})
    ended = [event["session"] for event in lit.events() if event["action"] == "ended"]
    assert (len(ended), len(set(ended))) == (_MANY, _MANY)


@pytest.mark.alone
def test_everything_goes_down_with_it(lit: Engine) -> None:
    session = begin(lit)
    rows = lit.call("stop_daemon", all=True)["ended"]
    assert [(row["id"], row["state"]) for row in rows] == [(session, "ended")]
