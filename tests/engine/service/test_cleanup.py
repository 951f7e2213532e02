"""Cleaning up in two steps: what is in a plan and what never is, and what an apply ends, skips and tells."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import asker
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine, messages, send
from tests.support.fixtures import engine_for
from tests.support.processes import none_left, wait_until

pytestmark = pytest.mark.shared

STUMBLING = Path(__file__).with_name("stumbling")
AT_SIGNAL = "trap 'on=1' USR1; while [ -z \"$on\" ]; do read x; done; {}"
"""Idle until it is told to be otherwise, by a signal: neither input nor output."""


@pytest.fixture
def calm(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine that takes a session for idle soon, and whose clock a test can move."""
    with engine_for(request, LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s", PYTHONPATH=FOLDER) as made:
        yield made


def has(made: Engine, session: str, verdict: str) -> bool:
    return made.show(session)["verdict"] == verdict


def idle(made: Engine, name: str, *command: str, **arguments: Any) -> str:
    """The id of a session that does nothing."""
    session = made.start(*(command or ("sleep", "300")), name=name, headless=True, **arguments)["id"]
    assert wait_until(lambda: has(made, session, "idle")), made.show(session)
    return session


def leftovers(made: Engine, name: str, mark: str = "") -> str:
    session = made.start(
        "sh", "-c", f"sh -c 'sleep 300; : {mark}' & exit 0", name=name, headless=True, keep_children=True
    )["id"]
    assert wait_until(lambda: has(made, session, "leftovers")), made.show(session)
    return session


def orphan(made: Engine, name: str) -> str:
    parent = made.start("cat", name=f"parent-of-{name}")["id"]
    session = made.start("sleep", "300", name=name, headless=True, parent=parent)["id"]
    made.call("kill_session", session=parent, force=True, grace="0s")
    assert wait_until(lambda: has(made, session, "orphaned")), made.show(session)
    return session


def plan(made: Engine, selection: str | None = None, **arguments: Any) -> dict[str, Any]:
    given = {} if selection is None else {"selection": selection}
    return made.call("cleanup_sessions", **given, **arguments)


def apply(made: Engine, of: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return made.call("cleanup_sessions", apply=of["plan"], **arguments)


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


def outcome(result: dict[str, Any], name: str) -> tuple[str, str]:
    row = next(row for row in result["rows"] if row["name"] == name)
    return row["outcome"], row["why"]


def why(result: dict[str, Any], name: str) -> str:
    assert name not in names(result["rows"])
    return next(row["why"] for row in result["left_out"] if row["name"] == name)


def refused(made: Engine, code: Code, **arguments: Any) -> LampError:
    with pytest.raises(LampError) as caught:
        made.call("cleanup_sessions", **arguments)
    assert caught.value.code is code
    assert caught.value.hint
    return caught.value


def test_a_plan_ends_nothing_and_its_apply_what_it_says(calm: Engine, mark: str) -> None:
    left, lost, other = leftovers(calm, "left", mark), orphan(calm, "lost"), idle(calm, "other")
    made = plan(calm)
    assert [row["id"] for row in made["rows"]] == [left, lost]
    assert not made["applied"]
    row = made["rows"][0]
    assert (row["verdict"], row["outcome"], row["certificate"]) == ("leftovers", None, None)
    assert row["evidence"]
    assert made["sums"]["processes"] == sum(row["processes"] for row in made["rows"]) >= 2
    assert made["sums"]["memory"] > 0
    assert {session["id"] for session in calm.call("list_sessions")["sessions"]} == {left, lost, other}

    done = apply(calm, made)
    assert done["applied"]
    assert [row["outcome"] for row in done["rows"]] == ["ended", "ended"]
    assert all(row["certificate"]["survivors"] == [] for row in done["rows"])
    assert (done["sums"]["ended"], done["sums"]["skipped"], done["sums"]["failed"]) == (2, 0, 0)
    assert done["sums"]["memory"] == made["sums"]["memory"]
    assert none_left(mark)
    assert [session["id"] for session in calm.call("list_sessions")["sessions"]] == [other]
    ending = calm.show(left)["ending"]
    assert (ending["by"], ending["reason"]) == ("operator", f"cleanup {made['plan']}: leftovers")
    actions = [(event["action"], event["detail"].get("plan")) for event in calm.events() if not event["session"]]
    assert actions == [(action, made["plan"]) for action in ("plan", "apply", "applied")]


def test_a_selection_chooses_and_a_reason_is_kept(calm: Engine) -> None:
    for name in ("cron:1", "cron:2", "job"):
        idle(calm, name)
    made = plan(calm, "idle,cron:*")
    assert names(made["rows"]) == ["cron:1", "cron:2"]
    apply(calm, made, reason="tidy", grace="0s")
    assert calm.show("cron:1")["ending"]["reason"] == "tidy"
    assert names(plan(calm, "job+cron:*")["rows"]) == ["job"]


# -- what is never in a plan


def _protected(made: Engine) -> None:
    idle(made, "one", protect=True)


def _main(made: Engine) -> None:
    idle(made, "one", kind="main")


def _system(made: Engine) -> None:
    idle(made, "one", kind="system")


def _attached(made: Engine) -> None:
    made.start("sh", "-c", "read x", name="one")
    _attach(made, "one")


def _ending(made: Engine) -> None:
    made.start("sh", "-c", "trap '' TERM HUP; echo up; while :; do sleep 0.1; done", name="one", headless=True)
    made.call("wait_session", session="one", until="text=up", timeout="120s")
    _behind(made, "end_session", session="one", grace="60s")
    assert wait_until(lambda: made.show("one")["state"] == "ending")


def _attach(made: Engine, session: str) -> socket.socket:
    with made.connect() as sock:
        send(sock, "attach_session", uuid.uuid4().hex, {"session": session})
        _, descriptors, _, _ = socket.recv_fds(sock, 1 << 20, 1)
    _VIEWERS.append(socket.socket(fileno=descriptors[0]))
    assert wait_until(lambda: made.show(session)["attached"] == 1)
    return _VIEWERS[-1]


_VIEWERS: list[socket.socket] = []


@pytest.fixture(autouse=True)
def nobody_stays() -> Iterator[None]:
    yield
    while _VIEWERS:
        _VIEWERS.pop().close()


def _behind(made: Engine, operation: str, **arguments: Any) -> None:
    """Asked for, and not waited for: whoever asked is gone."""
    with made.connect() as sock:
        send(sock, operation, uuid.uuid4().hex, arguments)
        # One answer to something else says that the request before it was read.
        send(sock, "get_status", "", {})
        next(messages(sock))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_protected, "it is protected"),
        (_main, "it is a main session"),
        (_system, "it is a system session"),
        (_attached, "people are attached to it"),
        (_ending, "it is being ended already"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_never_in_a_plan_force_or_not(calm: Engine, make: Callable[[Engine], None], reason: str) -> None:
    make(calm)
    for force in (False, True):
        assert why(plan(calm, "*", force=force), "one") == reason
        assert why(plan(calm, "one", force=force), "one") == reason
    calm.call("kill_session", session="one", force=True, grace="0s")


def test_active_ones_need_force(calm: Engine) -> None:
    calm.start("sh", "-c", "while :; do :; done", name="busy", headless=True)
    assert wait_until(lambda: has(calm, "busy", "working"))
    assert "active: working" in why(plan(calm, "busy"), "busy")
    done = apply(calm, plan(calm, "busy", force=True), grace="0s")
    assert outcome(done, "busy")[0] == "ended"


def test_what_has_ended_is_left_out(calm: Engine) -> None:
    calm.start("true", name="gone")
    calm.call("wait_session", session="gone", timeout="120s")
    assert why(plan(calm, "gone"), "gone") == "it has ended"


@pytest.mark.alone
def test_older_than_counts_from_the_last_sign_of_life(calm: Engine) -> None:
    idle(calm, "old")
    assert "quiet for" in why(plan(calm, "old", older_than="30m"), "old")
    Clockwork(calm.folder).advance(3600)
    idle_now = calm.start("sleep", "300", name="young", headless=True)["id"]
    assert wait_until(lambda: has(calm, idle_now, "idle"))
    found = plan(calm, "idle", older_than="30m")
    assert names(found["rows"]) == ["old"]
    assert found["rows"][0]["quiet_for"] >= 3600
    assert "quiet for" in why(found, "young")


def ask_inside(made: Engine, inside: str, operation: str, /, **arguments: Any) -> dict[str, Any]:
    answer = made.folder / f"answer-{uuid.uuid4().hex}"
    words = [sys.executable, asker.__file__, made.home.run, str(answer), "plain", operation, json.dumps(arguments)]
    made.call("send_input", session=inside, text=" ".join(f"'{word}'" for word in words))
    assert wait_until(answer.exists), made.output(inside)
    return json.loads(answer.read_text())


def test_an_agent_cleans_up_what_it_started_and_never_itself(calm: Engine) -> None:
    above = calm.start("sh", name="above")["id"]
    asking = calm.start("sh", name="asking", parent=above)["id"]
    child = idle(calm, "child", parent=asking)
    idle(calm, "grandchild", parent=child)
    idle(calm, "stranger")
    made = ask_inside(calm, asking, "cleanup_sessions", selection="*", force=True)["result"]
    assert names(made["rows"]) == ["child", "grandchild"]
    assert why(made, "asking") == "it is the session that asks"
    assert why(made, "above") == "the session that asks descends from it"
    assert "nor one that it started" in why(made, "stranger")
    assert refused(calm, Code.FORBIDDEN, apply=made["plan"]).code is Code.FORBIDDEN  # the operator is another caller
    first = ask_inside(calm, asking, "cleanup_sessions", apply=made["plan"], grace="0s")
    assert first["item"]["total"] == 2
    assert wait_until(lambda: calm.show("grandchild")["state"] == "ended" == calm.show("child")["state"])
    assert {session["name"] for session in calm.call("list_sessions")["sessions"]} == {"above", "asking", "stranger"}
    own = plan(calm, "stranger")
    assert ask_inside(calm, asking, "cleanup_sessions", apply=own["plan"])["error"]["code"] == "FORBIDDEN"
    assert calm.events()[-1]["detail"]["plan"] == own["plan"]


# -- what an apply skips


def test_what_changed_since_the_plan_is_skipped(calm: Engine) -> None:
    for name in ("kept", "gone", "same"):
        idle(calm, name)
    idle(calm, "prompted")
    idle(calm, "busy", "sh", "-c", AT_SIGNAL.format("while :; do :; done"))
    idle(calm, "stopped", "sh", "-c", AT_SIGNAL.format("kill -STOP $$"))
    made = plan(calm, "idle")
    assert len(made["rows"]) == 6
    calm.call("protect_session", session="kept")
    calm.call("kill_session", session="gone", force=True, grace="0s")
    calm.call("send_input", session="prompted", text="go")
    for name in ("busy", "stopped"):
        os.kill(calm.show(name)["pid"], signal.SIGUSR1)
    assert wait_until(lambda: has(calm, "prompted", "idle"))
    assert wait_until(lambda: has(calm, "busy", "working"))
    assert wait_until(lambda: has(calm, "stopped", "stuck"))
    done = apply(calm, made, grace="0s")
    assert outcome(done, "kept") == ("skipped", "it is protected")
    assert outcome(done, "gone") == ("skipped", "it has ended")
    assert outcome(done, "busy") == ("skipped", "it became active: working")
    assert outcome(done, "stopped") == ("skipped", "it was idle and is stuck now")
    assert outcome(done, "prompted") == ("skipped", "it got input since the plan was made")
    assert outcome(done, "same")[0] == "ended"
    assert done["sums"]["skipped"] == 5
    assert {session["name"] for session in calm.call("list_sessions")["sessions"]} == {
        "kept",
        "busy",
        "stopped",
        "prompted",
    }
    calm.call("protect_session", session="kept", off=True)


def test_output_and_people_since_the_plan_are_seen(calm: Engine) -> None:
    spoke = calm.start("sh", "-c", AT_SIGNAL.format("echo on; exec cat"), name="spoke", headless=True)
    calm.start("sleep", "300", name="watched")
    calm.start("sleep", "300", name="same")
    for name in ("spoke", "watched", "same"):
        assert wait_until(lambda name=name: has(calm, name, "idle"))
    made = plan(calm, "idle")
    assert len(made["rows"]) == 3
    os.kill(spoke["pid"], signal.SIGUSR1)
    calm.call("wait_session", session="spoke", until="text=on", timeout="120s")
    assert wait_until(lambda: has(calm, "spoke", "idle"))
    _attach(calm, "watched")
    done = apply(calm, made, grace="0s")
    assert outcome(done, "spoke") == ("skipped", "it has printed since the plan was made")
    assert outcome(done, "watched") == ("skipped", "people are attached to it")
    assert outcome(done, "same")[0] == "ended"


def test_with_force_no_change_matters_but_the_rules(calm: Engine) -> None:
    idle(calm, "busy", "sh", "-c", AT_SIGNAL.format("while :; do :; done"))
    idle(calm, "kept")
    made = plan(calm, "idle", force=True)
    os.kill(calm.show("busy")["pid"], signal.SIGUSR1)
    assert wait_until(lambda: has(calm, "busy", "working"))
    calm.call("protect_session", session="kept")
    done = apply(calm, made, grace="0s")
    assert outcome(done, "busy")[0] == "ended"
    assert outcome(done, "kept") == ("skipped", "it is protected")


# -- a plan itself


@pytest.mark.alone
def test_a_plan_expires(calm: Engine) -> None:
    idle(calm, "one")
    made, other = plan(calm, "idle"), plan(calm, "idle")
    Clockwork(calm.folder).advance(601)
    assert "lamp cleanup 'idle'" in refused(calm, Code.PLAN_EXPIRED, apply=made["plan"]).hint
    Clockwork(calm.folder).jump(-3600)  # set back: nobody knows how old it is
    refused(calm, Code.PLAN_EXPIRED, apply=made["plan"])
    Clockwork(calm.folder).advance(590)
    assert outcome(apply(calm, other), "one")[0] == "ended"


@pytest.mark.alone
def test_a_plan_is_applied_once_and_the_same_key_is_the_same_call(calm: Engine) -> None:
    idle(calm, "one")
    made = plan(calm, "idle")
    key = uuid.uuid4().hex
    done = apply(calm, made, key=key)
    assert apply(calm, made, key=key) == done
    refused(calm, Code.PLAN_APPLIED, apply=made["plan"])
    calm.kill(calm.daemon())
    assert apply(calm, made, key=key) == done
    refused(calm, Code.PLAN_APPLIED, apply=made["plan"])
    assert [event["action"] for event in calm.events("one")].count("ended") == 1


def test_rows_that_are_left_out_are_left_alone(calm: Engine) -> None:
    one, two = idle(calm, "one"), idle(calm, "two")
    made, key = plan(calm, "idle"), uuid.uuid4().hex
    done = apply(calm, made, key=key, without=[two])
    assert outcome(done, "one")[0] == "ended"
    assert outcome(done, "two") == ("skipped", "left out by the operator")
    assert (done["sums"]["ended"], done["sums"]["skipped"]) == (1, 1)
    assert done["sums"]["memory"] == next(row["memory"] for row in made["rows"] if row["id"] == one)
    assert calm.show(two)["state"] == "running"
    assert apply(calm, made, key=key, without=[two]) == done
    refused(calm, Code.PLAN_APPLIED, apply=made["plan"])
    calm.kill(calm.daemon())
    assert apply(calm, made, key=key, without=[two]) == done
    assert calm.show(two)["state"] == "running"


def test_all_of_a_plan_can_be_left_out_also_of_an_active_one(calm: Engine) -> None:
    busy = calm.start("sh", "-c", "while :; do :; done", name="busy", headless=True)["id"]
    done = apply(calm, plan(calm, "busy", force=True), without=[busy, busy])
    assert outcome(done, "busy") == ("skipped", "left out by the operator")
    assert calm.show(busy)["state"] == "running"
    assert calm.show(busy)["ending"] is None


def test_what_is_no_row_cannot_be_left_out(calm: Engine) -> None:
    one, other = idle(calm, "one"), idle(calm, "other")
    made = plan(calm, "one")
    for wrong in ([other], [one, "nothing"], [""], ["one"], ["\x1b[2J"]):
        assert "has no row" in refused(calm, Code.BAD_INPUT, apply=made["plan"], without=wrong).message
    refused(calm, Code.BAD_INPUT, selection="one", without=[one])  # no plan yet
    refused(calm, Code.BAD_INPUT, apply=made["plan"], without=one)
    assert calm.show(one)["state"] == "running"
    assert outcome(apply(calm, made), "one")[0] == "ended"  # it was not used up by that


def test_twice_at_once_is_once(calm: Engine) -> None:
    for number in range(5):
        idle(calm, f"one-{number}")
    made = plan(calm, "idle")
    asked = [
        {"id": number, "op": "cleanup_sessions", "args": {"apply": made["plan"]}, "key": f"key-{number}"}
        for number in range(6)
    ]
    with calm.connect() as sock:
        sock.sendall(
            b"".join(json.dumps(one).encode() + b"\n" for one in asked)
        )  # at once: read by the daemon together
        answers = [message for message in messages_until(sock, 6) if "item" not in message]
    codes = [message["error"]["code"] for message in answers if "error" in message]
    assert codes == ["PLAN_APPLIED"] * 5
    done = next(message["result"] for message in answers if "result" in message)
    assert done["sums"]["ended"] == 5
    assert [event["action"] for event in calm.events() if not event["session"]] == ["plan", "apply", "applied"]


def messages_until(sock: socket.socket, answers: int) -> Iterator[dict[str, Any]]:
    """Everything that comes, up to this many answers."""
    for message in messages(sock):
        yield message
        answers -= "item" not in message
        if not answers:
            return


def test_two_plans_of_the_same_session_end_it_once(calm: Engine) -> None:
    idle(calm, "one")
    first, second = plan(calm, "idle"), plan(calm, "idle")
    assert outcome(apply(calm, first), "one")[0] == "ended"
    assert outcome(apply(calm, second), "one") == ("skipped", "it has ended")


def test_wrong_questions_change_nothing(calm: Engine) -> None:
    idle(calm, "one")
    made = plan(calm, "idle")["plan"]
    for arguments in ({"selection": "idle"}, {"older_than": "5m"}, {"force": True}, {"grace": "soon"}):
        refused(calm, Code.BAD_INPUT, apply=made, **arguments)
    refused(calm, Code.NOT_FOUND, apply="plan-00000000")
    refused(calm, Code.NOT_FOUND, apply="")
    refused(calm, Code.BAD_INPUT, selection="idle,,")
    refused(calm, Code.BAD_INPUT, older_than="long")
    assert "did you mean orphaned?" in refused(calm, Code.NOT_FOUND, selection="orphand").hint
    assert calm.show("one")["state"] == "running"
    assert names(apply(calm, {"plan": made})["rows"]) == ["one"]


def test_a_blank_selection_is_the_default_and_never_everything(calm: Engine) -> None:
    idle(calm, "one")
    assert plan(calm, " ")["rows"] == []


@pytest.mark.alone
def test_plans_are_forgotten_after_a_week(calm: Engine) -> None:
    made = plan(calm)
    Clockwork(calm.folder).jump(8 * 86400)
    calm.kill(calm.daemon())  # the next one keeps house when it begins
    assert wait_until(lambda: _code(calm, made) is Code.NOT_FOUND)


def _code(made: Engine, of: dict[str, Any]) -> Code:
    try:
        apply(made, of)
    except LampError as error:
        return error.code
    pytest.fail("it was applied")


# -- many


@pytest.mark.alone
@pytest.mark.parametrize("count", [50, pytest.param(200, marks=pytest.mark.deep)])
def test_very_many_in_one_apply(calm: Engine, mark: str, count: int) -> None:
    """No survivor; what is ended, protected or at work by then takes no other row along; each is told as it comes."""
    script = f"exec 3<&0; sh -c 'cat; : {mark}' <&3 & cat"
    for number in range(count):
        calm.start("sh", "-c", script, name=f"job-{number}", headless=True)
    calm.start("sh", "-c", f"{AT_SIGNAL.format('while :; do :; done')}; : {mark}", name="job-busy", headless=True)
    assert wait_until(lambda: len(calm.call("list_sessions", selection="idle")["sessions"]) == count + 1)
    made = plan(calm, "idle,job-*", grace="1s")
    assert len(made["rows"]) == count + 1
    calm.call("kill_session", session="job-7", force=True, grace="0s")
    calm.call("protect_session", session="job-8")
    os.kill(calm.show("job-busy")["pid"], signal.SIGUSR1)
    assert wait_until(lambda: has(calm, "job-busy", "working"))
    with calm.connect() as sock:
        send(sock, "cleanup_sessions", uuid.uuid4().hex, {"apply": made["plan"]})
        told = list(_until_result(sock))
    items, done = [message["item"] for message in told[:-1]], told[-1]["result"]
    assert [item["done"] for item in items] == list(range(1, count + 2))
    assert {item["row"]["id"] for item in items} == {row["id"] for row in made["rows"]}
    assert done["sums"] | {"processes": 0, "memory": 0} == {
        "sessions": count + 1, "ended": count - 2, "skipped": 3, "survived": 0, "failed": 0, "processes": 0, "memory": 0,
    }  # fmt: skip
    assert all(row["certificate"]["survivors"] == [] for row in done["rows"] if row["outcome"] == "ended")
    ended = [
        event["session"] for event in calm.call("list_events", limit=100_000)["events"] if event["action"] == "ended"
    ]
    assert len(ended) == len(set(ended)) == count - 1
    for name in ("job-8", "job-busy"):
        calm.call("kill_session", session=name, force=True, grace="0s")
    assert none_left(mark)


def _until_result(sock: socket.socket) -> Iterator[dict[str, Any]]:
    for message in messages(sock):
        assert "error" not in message, message
        yield message
        if "result" in message:
            return


def test_a_row_that_fails_takes_no_other_along() -> None:
    with engine(PYTHONPATH=str(STUMBLING)) as made:
        for name in ("first", "stumble", "fall", "last"):
            made.start("sleep", "300", name=name, headless=True)
        done = made.cli("cleanup", "*", "--force", "--yes", "--json", "--grace", "0")
        assert done.returncode == 3, done  # of the first that failed
        result = json.loads(done.stdout)
        assert [row["outcome"] for row in result["rows"]] == ["ended", "failed", "failed", "ended"]
        assert [row["error"]["code"] for row in result["rows"][1:3]] == ["HOLDER_UNREACHABLE", "INTERNAL"]
        assert (result["sums"]["ended"], result["sums"]["failed"]) == (2, 2)
        assert "failed stumble" in made.cli("cleanup", "stumble", "--force", "--yes").stderr
        left = {session["name"] for session in made.call("list_sessions")["sessions"]}
        assert left == {"stumble", "fall"}


def test_whoever_asked_may_leave(calm: Engine) -> None:
    for number in range(20):
        calm.start("sleep", "300", name=f"job-{number}", headless=True)
    made = plan(calm, "job-*", force=True)
    _behind(calm, "cleanup_sessions", apply=made["plan"], grace="0s")
    assert wait_until(lambda: not calm.call("list_sessions")["sessions"])
    assert wait_until(lambda: calm.events()[-1]["action"] == "applied")
    assert calm.events()[-1]["detail"]["ended"] == 20
