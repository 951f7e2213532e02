"""Approvals: what an agent may not do, granted by the operator for one call, once; and every way around that is closed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import asker
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP, engine_for
from tests.support.losing import garble, restart, stop
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

GUESSED = "ap-" + "0" * 20


class Inside:
    """A shell in a session of its own: what the daemon answers to a process that it starts."""

    def __init__(self, made: Engine, **arguments: Any) -> None:
        self.made = made
        self.id: str = made.start("sh", **arguments)["id"]

    def ask(self, operation: str, /, *, key: str = "", **arguments: Any) -> dict[str, Any]:
        answer = self.made.folder / f"answer-{uuid.uuid4().hex}"
        words = [sys.executable, asker.__file__, self.made.home.run, str(answer), "plain", operation]
        words += [json.dumps(arguments), key or uuid.uuid4().hex]
        self.made.call("send_input", session=self.id, text=shlex.join(words))
        assert wait_until(answer.exists), self.made.output(self.id)
        return json.loads(answer.read_text())

    def refused(self, operation: str, /, **arguments: Any) -> str:
        """The code of the error."""
        return self.ask(operation, **arguments)["error"]["code"]

    def request(self, operation: str, /, **arguments: Any) -> str:
        """The id of the request that the operator can grant."""
        error = self.ask(operation, **arguments)["error"]
        assert error["code"] == "APPROVAL_NEEDED", error
        return error["details"]["request"]

    def granted(self, operation: str, /, **arguments: Any) -> str:
        request = self.request(operation, **arguments)
        assert decide(self.made, request)["state"] == "granted"
        return request


def decide(made: Engine, request: str, decision: str = "grant") -> dict[str, Any]:
    return made.call("decide_approval", request=request, decision=decision)


def listed(made: Engine) -> list[dict[str, Any]]:
    return made.call("list_approvals")["approvals"]


def actions(made: Engine, session: str) -> list[str]:
    return [event["action"] for event in made.events(session)]


def refusals(made: Engine, session: str) -> list[str]:
    return [event["detail"]["code"] for event in made.events(session) if event["action"] == "refused"]


def kept(made: Engine, text: str) -> list[tuple[Any, ...]]:
    """The rows of the store, of requests and of calls with their results, in which this is."""
    db = sqlite3.connect(made.home.database)
    try:
        rows = [
            *db.execute("SELECT * FROM approvals"),
            *db.execute("SELECT * FROM calls"),
            *db.execute("SELECT * FROM events"),
        ]
    finally:
        db.close()
    return [row for row in rows if text in repr(row)]


# -- the round


def test_the_whole_round(lit: Engine) -> None:
    agent, other = Inside(lit, name="agent"), lit.start("cat", name="other")["id"]
    wanted = {"session": "other", "force": True, "grace": "0s", "reason": "it hangs"}
    error = agent.ask("kill_session", **wanted)["error"]
    request = error["details"]["request"]
    assert (error["code"], error["details"]["session"]) == ("APPROVAL_NEEDED", other)
    assert error["details"]["expires_at"].endswith("Z")
    assert f"lamp approve {request}" in error["hint"]
    assert agent.request("kill_session", **wanted) == request  # asking again is the same request
    assert lit.call("get_status")["approvals"] == 1
    (asked,) = listed(lit)
    assert (asked["id"], asked["state"], asked["caller"]) == (request, "asked", f"session:{agent.id}")
    assert (asked["asker"]["name"], asked["target"]["name"], asked["target"]["owner"]) == ("agent", "other", "operator")
    assert asked["arguments"] == wanted
    assert agent.request("kill_session", **wanted, approval=request) == request  # nobody has decided yet
    assert lit.show(other)["state"] == "running"
    assert decide(lit, request[:10])["state"] == "granted"
    assert agent.request("kill_session", **wanted) == request
    ended = agent.ask("kill_session", **wanted, approval=request)["result"]
    assert (ended["state"], ended["reason"]) == ("ended", "it hangs")
    assert lit.show(other)["ending"]["by"] == f"session:{agent.id}"
    assert actions(lit, other)[2:] == ["approval asked", "approval granted", "approval used", "kill", "ended"]
    assert [event["by"] for event in lit.events(other)[2:5]] == [
        f"session:{agent.id}",
        "operator",
        f"session:{agent.id}",
    ]
    assert (listed(lit), lit.call("get_status")["approvals"]) == ([], 0)
    assert not any(request in json.dumps(event) for event in lit.events()), "others can read events"


def test_sending_and_ending_are_asked_for_too_and_what_was_typed_is_not_kept(lit: Engine) -> None:
    agent, other = Inside(lit), lit.start("cat", name="other")["id"]
    wanted = {"session": other, "text": "a secret swordfish"}
    request = agent.granted("send_input", **wanted)
    assert listed(lit)[0]["arguments"]["text"] == "a secret swordfish"
    assert agent.ask("send_input", **wanted, approval=request)["result"]["size"] == len("a secret swordfish\r")
    lit.call("wait_session", session=other, until="text=swordfish", timeout="120s", since=0)
    shown = lit.call("list_approvals", request=request)["approvals"][0]
    assert (shown["state"], shown["arguments"]) == ("used", None)
    again = agent.request("send_input", **wanted)
    assert again != request
    assert decide(lit, again, "refuse")["arguments"] is None
    assert "swordfish" not in json.dumps(lit.events())
    assert not kept(lit, "swordfish")
    ending = agent.granted("end_session", session=other)
    assert agent.ask("end_session", session=other, approval=ending)["result"]["state"] == "ended"


@pytest.mark.parametrize("beyond", ["protected", "main", "ancestor"])
def test_whatever_is_beyond_an_agent_can_be_granted(lit: Engine, beyond: str) -> None:
    above = lit.start("cat", name="above")["id"]
    agent = Inside(lit, parent=above)
    more = {"protected": {"protect": True, "parent": agent.id}, "main": {"kind": "main", "parent": agent.id}}
    target = above if beyond == "ancestor" else lit.start("cat", **more[beyond])["id"]
    request = agent.granted("end_session", session=target, grace="0s")
    assert agent.ask("end_session", session=target, grace="0s", approval=request)["result"]["state"] == "ended"


def test_an_agent_outside_every_session_asks_as_that_agent(lit: Engine, tmp_path: Path) -> None:
    """A program called claude: the same one may use what was granted, another of the same name may not."""
    program = tmp_path / "claude"
    shutil.copy("/bin/sh", program)
    other = lit.start("cat", name="other")["id"]
    go, answers = tmp_path / "go", [lit.folder / name for name in ("asked", "foreign", "done")]
    run, wanted = lit.home.run, json.dumps({"session": other, "force": True, "grace": "0s"})
    ask = f"{sys.executable} {asker.__file__} {run}"
    script = f"{ask} {answers[0]} plain kill_session '{wanted}'; read id < {go}; {ask} {answers[2]} plain kill_session \"$id\""
    os.mkfifo(go)
    with subprocess.Popen([str(program), "-c", f"{script}; true"]) as agent:
        assert wait_until(answers[0].exists)
        request = json.loads(answers[0].read_text())["error"]["details"]["request"]
        assert lit.show(listed(lit)[0]["caller"].removeprefix("session:"))["pid"] == agent.pid
        decide(lit, request)
        granted = json.dumps({**json.loads(wanted), "approval": request})
        foreign = [sys.executable, asker.__file__, run, str(answers[1]), "plain", "kill_session", granted]
        quoted = shlex.join(foreign)
        subprocess.run([str(program), "-c", f"{quoted}; true"], check=True, timeout=200)
        assert json.loads(answers[1].read_text())["error"]["code"] == "FORBIDDEN"
        assert lit.show(other)["state"] == "running"
        go.write_text(granted + "\n")
        assert agent.wait(60) == 0
    assert json.loads(answers[2].read_text())["result"]["state"] == "ended"


@pytest.fixture
def calm(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine that takes a session for idle soon."""
    with engine_for(request, LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


def test_an_active_session_stays_active_and_the_word_stands(calm: Engine) -> None:
    """What was granted is a kill without force: refused for what works, and still granted once that is at rest."""
    lit, agent = calm, Inside(calm)
    busy = "while [ ! -e rest ]; do :; done; exec sleep 300"
    other = lit.start("sh", "-c", busy, cwd=str(lit.folder), headless=True)["id"]
    wanted = {"session": other, "grace": "0s"}
    request = agent.granted("kill_session", **wanted)
    assert agent.refused("kill_session", **wanted, approval=request) == "ACTIVE"
    assert agent.refused("kill_session", **wanted, force=True, approval=request) == "FORBIDDEN"
    assert [one["state"] for one in listed(lit)] == ["granted"]
    assert listed(lit)[0]["arguments"]["grace"] == "0s"
    (lit.folder / "rest").touch()
    assert wait_until(lambda: lit.show(other)["verdict"] == "idle"), lit.show(other)
    assert agent.ask("kill_session", **wanted, approval=request)["result"]["state"] == "ended"


def test_one_approval_covers_just_the_rows_of_a_plan(calm: Engine) -> None:
    lit, agent, thief = calm, Inside(calm), Inside(calm, name="thief")
    names = ["one", "two", "three", "four"]
    ids = {name: lit.start("sleep", "300", name=name, headless=True)["id"] for name in names}
    assert wait_until(lambda: all(lit.show(name)["verdict"] == "idle" for name in names))
    wanted = {"selection": "idle", "others": True}
    made = agent.ask("cleanup_sessions", **wanted)["result"]
    assert {row["id"] for row in made["rows"]} >= set(ids.values())
    chosen = agent.ask("cleanup_sessions", selection="one+two+three", others=True)["result"]
    apply = {"apply": chosen["plan"], "grace": "0s"}
    error = agent.ask("cleanup_sessions", **apply)["error"]
    request = error["details"]["request"]
    assert (error["code"], error["details"]["plan"]) == ("APPROVAL_NEEDED", chosen["plan"])
    assert [row["name"] for row in error["details"]["rows"]] == ["one", "two", "three"]
    assert agent.request("cleanup_sessions", **apply) == request
    assert decide(lit, request)["state"] == "granted"
    attacks = [
        (thief, {**apply, "approval": request}),
        (agent, {"apply": made["plan"], "grace": "0s", "approval": request}),
        (agent, {**apply, "grace": "9s", "approval": request}),
        (agent, {**apply, "approval": GUESSED}),
    ]
    assert [caller.refused("cleanup_sessions", **given) for caller, given in attacks] == ["FORBIDDEN"] * 4
    assert agent.refused("cleanup_sessions", apply=chosen["plan"], without=["none"], approval=request) == "BAD_INPUT"
    assert {lit.show(name)["state"] for name in names} == {"running"}
    lit.call("protect_session", session="two")
    key = uuid.uuid4().hex
    agent.ask("cleanup_sessions", **apply, approval=request, key=key)  # the first line is a row's progress
    assert wait_until(lambda: lit.show("one")["state"] == lit.show("three")["state"] == "ended")
    assert lit.show("one")["ending"]["by"] == f"session:{agent.id}"
    assert {lit.show(name)["state"] for name in ("two", "four")} == {"running"}
    assert agent.refused("cleanup_sessions", **apply, approval=request) == "PLAN_APPLIED"
    steps = [event for event in lit.events() if event["action"].startswith("approval")]
    assert [event["action"].split()[1] for event in steps] == ["asked", "granted", "used"]
    assert {(event["session"], event["detail"]["plan"]) for event in steps} == {(None, chosen["plan"])}
    lit.call("protect_session", session="two", off=True)


def test_what_was_approved_is_not_applied_after_a_loss_of_the_store(calm: Engine) -> None:
    """Plan and word are in the snapshot that is restored: what was done or taken back since nobody knows."""
    lit, agent = calm, Inside(calm)
    ids = [lit.start("sleep", "300", name=name, headless=True)["id"] for name in ("one", "two")]
    assert wait_until(lambda: all(lit.show(session)["verdict"] == "idle" for session in ids))
    apply = {"apply": agent.ask("cleanup_sessions", selection="one+two", others=True)["result"]["plan"]}
    request = agent.granted("cleanup_sessions", **apply)
    restart(lit)
    stop(lit)
    garble(lit)
    assert lit.call("get_status")["approvals"] == 0
    error = agent.ask("cleanup_sessions", **apply, approval=request)["error"]
    assert (error["code"], error["hint"]) == ("PLAN_EXPIRED", "make a new one: lamp cleanup 'one+two'")
    assert {lit.show(session)["state"] for session in ids} == {"running"}
    assert not [event for session in ids for event in lit.events(session) if event["action"] == "end"]


# -- attacks


def test_an_approval_is_for_one_call_of_one_caller_once(lit: Engine) -> None:
    agent, thief = Inside(lit), Inside(lit, name="thief")
    other, bystander = lit.start("cat", name="other")["id"], lit.start("cat", name="bystander")["id"]
    wanted = {"session": other, "text": "yes"}
    request = agent.granted("send_input", **wanted)
    asked = thief.request("send_input", **wanted)
    attacks = [
        (thief, "send_input", {**wanted, "approval": request}),  # another caller's, for the same
        (agent, "send_input", {**wanted, "approval": asked}),  # and the other way round
        (agent, "send_input", {**wanted, "approval": GUESSED}),
        (agent, "send_input", {**wanted, "approval": request[:10]}),
        (agent, "send_input", {**wanted, "approval": ""}),
        (agent, "send_input", {**wanted, "approval": "' OR 1=1 --"}),
        (agent, "send_input", {**wanted, "approval": "../\n\t%"}),
        (agent, "send_input", {**wanted, "text": "no", "approval": request}),
        (agent, "send_input", {**wanted, "keys": True, "approval": request}),
        (agent, "send_input", {**wanted, "session": bystander, "approval": request}),
        (agent, "end_session", {"session": other, "approval": request}),
        (agent, "kill_session", {"session": other, "force": True, "approval": request}),
    ]
    told: set[str] = set()
    for caller, operation, arguments in attacks:
        error = caller.ask(operation, **arguments)["error"]
        assert error["code"] == "FORBIDDEN", (operation, arguments, error)
        told.add(error["message"].rpartition("; ")[2])
    assert len(told) == 1, "whether an id exists is not told"
    assert len(refusals(lit, other) + refusals(lit, bystander)) == len(attacks)
    assert "yes" not in lit.output(other)
    assert "result" in agent.ask("send_input", **wanted, approval=request)
    assert agent.refused("send_input", **wanted, approval=request) == "APPROVAL_USED"
    lit.call("wait_session", session=other, until="text=yes\r\nyes\r\n", timeout="120s", since=0)
    assert refusals(lit, other)[-1] == "APPROVAL_USED"
    with pytest.raises(LampError) as late:
        decide(lit, request, "refuse")
    assert late.value.code is Code.APPROVAL_USED


def test_a_name_that_means_another_session_by_now(lit: Engine) -> None:
    agent = Inside(lit)
    lit.start("cat", name="other")
    wanted = {"session": "other", "force": True, "grace": "0s"}
    request = agent.granted("kill_session", **wanted)
    lit.call("kill_session", session="other", force=True, grace="0s")
    other = lit.start("cat", name="other")["id"]
    assert agent.refused("kill_session", **wanted, approval=request) == "FORBIDDEN"
    assert agent.request("kill_session", **wanted) != request
    assert lit.show(other)["state"] == "running"


def test_ten_minutes_after_the_asking_it_is_over(timed: tuple[Engine, Clockwork]) -> None:
    made, clock = timed
    agent, other = Inside(made), made.start("cat", name="other")["id"]
    wanted = {"session": other, "text": "a secret"}
    request = agent.request("send_input", **wanted)
    clock.advance(500)
    decide(made, request)
    clock.advance(101)
    assert agent.refused("send_input", **wanted, approval=request) == "APPROVAL_EXPIRED"
    assert refusals(made, other) == ["APPROVAL_EXPIRED"]
    with pytest.raises(LampError) as late:
        decide(made, request)
    assert late.value.code is Code.APPROVAL_EXPIRED
    shown = made.call("list_approvals", request=request)["approvals"][0]
    assert (shown["state"], shown["arguments"], listed(made)) == ("expired", None, [])
    assert agent.request("send_input", **wanted) != request
    assert [row[0] for row in kept(made, "a secret")] == [listed(made)[0]["id"]]  # only what can still be decided on


def test_what_was_refused_stays_refused(timed: tuple[Engine, Clockwork]) -> None:
    made, clock = timed
    agent, other = Inside(made), made.start("cat", name="other")["id"]
    request = agent.request("end_session", session=other)
    assert decide(made, request, "refuse")["state"] == "refused"
    for arguments in ({"approval": request}, {}):
        error = agent.ask("end_session", session=other, **arguments)["error"]
        assert (error["code"], "refused it" in error["message"]) == ("FORBIDDEN", True)
    assert refusals(made, other) == ["FORBIDDEN"] * 2
    assert decide(made, request)["state"] == "granted"  # the operator may change their mind
    assert decide(made, request, "refuse")["state"] == "refused"
    clock.advance(601)
    assert agent.request("end_session", session=other) != request


def test_from_inside_nobody_approves(lit: Engine) -> None:
    """Not by the operations, and not by the command, in any disguise of it."""
    agent = Inside(lit, environment=lit.environment, cwd=str(lit.folder))
    other = lit.start("cat", name="other")["id"]
    request = agent.request("end_session", session=other)
    assert agent.refused("decide_approval", request=request, decision="grant") == "FORBIDDEN"
    assert agent.refused("list_approvals") == "FORBIDDEN"
    done = lit.folder / "done"
    lamp = f"{sys.executable} -m lamplighter.frontends.cli.main"
    scrubbed = f"env -i LAMPLIGHTER_HOME={lit.folder} PYTHONPATH={os.environ.get('PYTHONPATH', '')} {lamp}"
    script = f"({lamp} approve {request} --yes; echo $?; {scrubbed} approve; echo $?) > draft; mv draft {done}"
    lit.call("send_input", session=agent.id, text=script)
    assert wait_until(done.exists), lit.output(agent.id)
    assert done.read_text().split() == ["6", "6"], lit.output(agent.id)
    refused = [event for event in lit.events() if event["detail"].get("act") == "approve"]
    assert [event["by"] for event in refused] == [f"session:{agent.id}"] * 4
    assert [one["state"] for one in listed(lit)] == ["asked"]


def test_some_things_are_never_asked_for(lit: Engine) -> None:
    agent, other = Inside(lit), lit.start("cat", name="other")["id"]
    for operation, arguments in (
        ("stop_daemon", {}),
        ("stop_daemon", {"all": True}),
        ("prune_logs", {"apply": True}),
        ("adopt_session", {"target": "tmux:x"}),
        ("protect_session", {"session": other}),
        ("protect_session", {"session": other, "off": True}),
        ("attach_session", {"session": other}),
        ("start_session", {"command": ["cat"], "cwd": "/", "parent": other}),
    ):
        assert agent.refused(operation, **arguments) == "FORBIDDEN", operation
    lit.call("kill_session", session=other, force=True, grace="0s")
    assert agent.refused("kill_session", session=other) == "FORBIDDEN"  # there is nothing left to be granted
    for operation, arguments in (("kill_session", {"grace": "soon"}), ("send_input", {"text": "x", "aproval": "y"})):
        assert agent.refused(operation, session=agent.id, **arguments) == "BAD_INPUT"
    assert listed(lit) == []


def test_who_cannot_be_told_from_an_escaped_process_asks_for_nothing(lit: Engine) -> None:
    other, answer = lit.start("cat", name="other")["id"], lit.folder / "answer"
    words = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", "kill_session"]
    subprocess.run([*words, json.dumps({"session": other})], check=True, env={"CLAUDECODE": "1"}, timeout=200)
    assert json.loads(answer.read_text())["error"]["code"] == "FORBIDDEN"
    assert listed(lit) == []


def test_twenty_requests_are_open_at_most_and_none_is_longer_than_can_be_read(lit: Engine) -> None:
    other, script, answer = lit.start("cat", name="other")["id"], lit.folder / "many.py", lit.folder / "answer"
    script.write_text(
        "import importlib.util, json, os, sys, uuid\n"
        f"spec = importlib.util.spec_from_file_location('asker', {asker.__file__!r})\n"
        "asker = importlib.util.module_from_spec(spec); spec.loader.exec_module(asker)\n"
        f"ask = lambda **more: asker.ask({lit.home.run!r}, 'send_input', {{'session': {other!r}, **more}}, uuid.uuid4().hex)\n"
        "texts = [*map(str, range(21)), '3', 'x' * (64 << 10)]\n"
        f"open({str(answer)!r} + '.draft', 'w').write(json.dumps([ask(text=text)['error'] for text in texts]))\n"
        f"os.rename({str(answer)!r} + '.draft', {str(answer)!r})\n"
    )
    lit.start(sys.executable, str(script), name="agent")
    assert wait_until(answer.exists)
    errors = json.loads(answer.read_text())
    assert [error["code"] for error in errors] == ["APPROVAL_NEEDED"] * 20 + [
        "FORBIDDEN",
        "APPROVAL_NEEDED",
        "FORBIDDEN",
    ]
    assert "20 requests" in errors[20]["message"]
    assert errors[21]["details"]["request"] == errors[3]["details"]["request"]
    assert "too long" in errors[22]["message"]
    assert len({error["details"].get("request") for error in errors[:20]}) == len(listed(lit)) == 20
    assert Inside(lit).request("send_input", session=other, text="another caller may")


# -- at once, and with the daemon lost


def test_two_calls_at_once_act_once(lit: Engine) -> None:
    agent, other = Inside(lit), lit.start("cat", name="other")["id"]
    wanted = {"session": other, "text": "only-once"}
    request = agent.granted("send_input", **wanted)
    answers = [lit.folder / f"at-once-{number}" for number in range(8)]
    quoted = shlex.quote(json.dumps({**wanted, "approval": request}))
    ask = f"{sys.executable} {asker.__file__} {lit.home.run}"
    lit.call("send_input", session=agent.id, text=" & ".join(f"{ask} {a} plain send_input {quoted}" for a in answers))
    assert wait_until(lambda: all(answer.exists() for answer in answers)), lit.output(agent.id)
    found = [json.loads(answer.read_text()) for answer in answers]
    assert sorted("sent" if "result" in one else one["error"]["code"] for one in found) == ["APPROVAL_USED"] * 7 + [
        "sent"
    ]
    lit.call("wait_session", session=other, until="text=only-once\r\nonly-once", timeout="120s", since=0)
    assert lit.output(other).count("only-once") == 2  # the echo and cat


def test_grants_at_once_are_one_grant(lit: Engine) -> None:
    agent, other = Inside(lit), lit.start("cat", name="other")["id"]
    request = agent.request("end_session", session=other)
    with ThreadPoolExecutor(4) as pool:
        assert {one["state"] for one in pool.map(lambda _: decide(lit, request), range(8))} == {"granted"}
    assert actions(lit, other).count("approval granted") == 1
    lit.kill(lit.daemon())
    assert agent.ask("end_session", session=other, approval=request)["result"]["state"] == "ended"


@EVERY_STEP
@pytest.mark.parametrize("operation", ["send", "kill"])
def test_the_use_of_an_approval_survives_death_at_every_step(mortal: Engine, operation: str, every: int) -> None:
    """The command asks again under the same key, and that goes on; it is done once, and under another key it was used."""
    agent = Inside(mortal, environment=mortal.environment, cwd=str(mortal.folder))
    for number in range(1, 60, every):
        other = mortal.start("cat")["id"]
        words = {"send": f"{other} number-{number}", "kill": f"{other} --force --grace 0"}[operation]
        wanted = {
            "send": {"session": other, "text": f"number-{number}"},
            "kill": {"session": other, "force": True, "grace": "0"},
        }[operation]
        request = agent.granted(f"{operation}_{'input' if operation == 'send' else 'session'}", **wanted)
        done = mortal.folder / f"done-{number}"
        lamp = f"{sys.executable} -m lamplighter.frontends.cli.main {operation} {words} --approval {request} --json"
        waiting = f"until [ -e go-{number} ]; do sleep 0.01; done"
        mortal.call("send_input", session=agent.id, text=f"{waiting}; {lamp} > draft; mv draft {done}")
        (mortal.folder / "die-at").write_text(str(number))
        (mortal.folder / f"go-{number}").touch()
        assert wait_until(done.exists), mortal.output(agent.id)
        died = not (mortal.folder / "die-at").exists()
        (mortal.folder / "die-at").unlink(missing_ok=True)
        found = json.loads(done.read_text())
        if operation == "send":
            assert found.get("size") == len(f"number-{number}\r"), found
            mortal.call(
                "wait_session", session=other, until=f"text=number-{number}\r\nnumber-{number}", since=0, timeout="120s"
            )
            assert mortal.output(other).count(f"number-{number}") == 2  # the echo and cat
        else:
            assert found.get("state") == "ended", found
        assert actions(mortal, other).count("approval used") == 1
        if not died:
            assert number > 6, "no step was ever reached"
            return
    pytest.fail("the steps never ended")


def test_what_may_not_be_stored_is_not_kept_with_a_request_either(lit: Engine) -> None:
    agent = Inside(lit)
    other = lit.start("cat", name="other")["id"]
    agent.request("end_session", session=other, checkpoint="the code is <private>4711-0815</private>")
    lit.call("stop_daemon")
    for file in lit.folder.glob("*.db*"):
        assert b"4711-0815" not in file.read_bytes()
