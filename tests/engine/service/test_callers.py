"""Who is calling, by the kernel's word; and what that one may."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder import boot
from tests.support import asker
from tests.support.engine import Engine
from tests.support.own_tmux import OwnTmux
from tests.support.processes import alive, inspect, wait_until

pytestmark = pytest.mark.shared

ASKER = asker.__file__
DISGUISES = ["plain", "setsid", "scrubbed", "double-fork", "double-fork-scrubbed"]


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    made = OwnTmux()
    yield made
    made.close()


def command(lit: Engine, answer: Path, disguise: str, operation: str, /, **arguments: Any) -> list[str]:
    return [sys.executable, ASKER, lit.home.run, str(answer), disguise, operation, json.dumps(arguments)]


def ask_inside(lit: Engine, inside: str, disguise: str, operation: str, /, **arguments: Any) -> dict[str, Any]:
    """What the daemon answers to a process that a shell in the session starts."""
    answer = lit.folder / f"answer-{uuid.uuid4().hex}"
    words = " ".join(f"'{word}'" for word in command(lit, answer, disguise, operation, **arguments))
    lit.call("send_input", session=inside, text=words)
    assert wait_until(answer.exists), lit.output(inside)
    return json.loads(answer.read_text())


@pytest.mark.parametrize("disguise", DISGUISES)
def test_inside_a_session_it_is_that_session(both: Engine, disguise: str) -> None:
    inside = both.start("sh", name="inside")["id"]
    other = both.start("cat", name="other")["id"]
    assert ask_inside(both, inside, disguise, "get_status")["result"]["caller"] == f"session:{inside}"
    refused = ask_inside(both, inside, disguise, "kill_session", session=other, force=True)
    assert refused["error"]["code"] == "APPROVAL_NEEDED"
    assert refused["error"]["hint"]
    assert both.show(other)["state"] == "running"
    assert both.events(other)[-1]["action"] == "approval asked"
    for operation, arguments, code in (
        ("stop_daemon", {}, "FORBIDDEN"),
        ("stop_daemon", {"all": True}, "FORBIDDEN"),
        ("prune_logs", {"apply": True}, "FORBIDDEN"),
        ("end_session", {"session": other}, "APPROVAL_NEEDED"),
    ):
        assert ask_inside(both, inside, disguise, operation, **arguments)["error"]["code"] == code


def under_way(lit: Engine) -> bool:
    """Whether the keeper has asked the spare to be a shim."""
    births = Path(lit.folder, "sessions").glob("*/birth.json")
    keeper = inspect(lit.keeper()[0])
    return any(not file.stat().st_size for file in births) and keeper is not None and keeper.state == "S"


@pytest.mark.alone
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_a_command_that_asks_before_its_start_is_written_down_is_that_session(lit: Engine, tmux: OwnTmux) -> None:
    """It runs a moment before the daemon knows under which shim. Here that moment lasts, as tmux is asked meanwhile."""
    first = tmux.start(lit, "cat")["id"]
    lit.kill(lit.shim(lit.start("cat")["id"]))  # what a lost shim leaves to the keeper is no answer for others
    spare = lit.child("lamp-spare")[0]
    answer = lit.folder / "answer"
    os.kill(spare, signal.SIGSTOP)
    server = int(tmux.say("#{pid}", "cat"))
    with ThreadPoolExecutor(1) as pool:
        asked = command(lit, answer, "plain", "get_status")
        starting = pool.submit(tmux.start, lit, "sh", "-c", f"{shlex.join(asked)}; cat", name="asks")
        try:
            assert wait_until(lambda: under_way(lit))
            os.kill(server, signal.SIGSTOP)
            os.kill(spare, signal.SIGCONT)
            assert wait_until(answer.exists)
        finally:
            os.kill(spare, signal.SIGCONT)
            os.kill(server, signal.SIGCONT)
        session = starting.result(120)["id"]
    assert json.loads(answer.read_text())["result"]["caller"] == f"session:{session}"
    assert session != first


@pytest.mark.alone
def test_a_command_whose_keeper_is_lost_before_its_start_is_written_down_is_not_the_operator(both: Engine) -> None:
    """Without a mark and below a shim that nobody knows yet: it cannot be told from anybody who was started just now."""
    both.start("cat")
    keeper = both.keeper()
    spare = both.child("lamp-spare")[0]
    answer, ready = both.folder / "answer", both.folder / "ready"
    asked = command(both, answer, "plain", "get_status")
    script = (
        f"echo $PPID > {ready}~; mv {ready}~ {ready}; kill -STOP $PPID; until [ -e {ready}.go ]; do sleep 0.02; done"
    )
    os.kill(spare, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        words = ("env", "-i", "sh", "-c", f"PATH={os.environ['PATH']}; {script}; exec env -i {shlex.join(asked)}")
        starting = pool.submit(both.start, *words, headless=True, environment={"PATH": os.environ["PATH"]})
        try:
            assert wait_until(lambda: under_way(both))
            os.kill(keeper[0], signal.SIGSTOP)  # it can tell nobody of the shim
            os.kill(spare, signal.SIGCONT)
            assert wait_until(ready.exists)
            shim = int(ready.read_text())
            assert wait_until(lambda: (found := inspect(shim)) is not None and found.state == "T")
        finally:
            os.kill(spare, signal.SIGCONT)
            both.kill(keeper)
        try:
            assert wait_until(lambda: both.keeper() != keeper)
            (both.folder / "ready.go").touch()
            assert wait_until(answer.exists)
        finally:
            os.kill(shim, signal.SIGCONT)
        failed = starting.exception(120)
    # While the shim was stopped nobody could ask it, and the daemon waits for an answer only so long.
    assert failed is None or (isinstance(failed, LampError) and failed.code is Code.OUTCOME_UNKNOWN), failed
    assert json.loads(answer.read_text())["result"]["caller"] != "operator"


def test_the_operator_is_outside(lit: Engine) -> None:
    assert lit.call("get_status")["caller"] == "operator"


def test_an_agent_ends_what_it_started_and_no_more(lit: Engine) -> None:
    inside = lit.start("sh", name="agent")["id"]
    environment = {"PATH": os.environ["PATH"]}
    child = ask_inside(
        lit, inside, "plain", "start_session", command=["cat"], name="child", cwd="/", environment=environment
    )["result"]
    assert child["parent"] == inside
    assert lit.show("child")["owner"] == f"session:{inside}"
    grandchild = lit.start("cat", name="grandchild", parent=child["id"])["id"]
    sent = ask_inside(lit, inside, "plain", "send_input", session="grandchild", text="hello")
    assert "result" in sent
    ended = ask_inside(lit, inside, "plain", "kill_session", session=grandchild, force=True, grace="0s")
    assert ended["result"]["state"] == "ended"
    lit.call("protect_session", session="child")
    assert "protected" in ask_inside(lit, inside, "plain", "end_session", session="child")["error"]["message"]
    assert (
        ask_inside(lit, inside, "plain", "protect_session", session="child", off=True)["error"]["code"] == "FORBIDDEN"
    )
    lit.call("protect_session", session="child", off=True)
    assert ask_inside(lit, inside, "plain", "end_session", session="child", grace="0s")["result"]["state"] == "ended"


def test_an_ancestor_is_beyond_an_agent(lit: Engine) -> None:
    parent = lit.start("sh", name="parent")["id"]
    child = lit.start("sh", name="child", parent=parent)["id"]
    assert ask_inside(lit, child, "plain", "end_session", session=parent)["error"]["code"] == "APPROVAL_NEEDED"
    stolen = ask_inside(lit, child, "plain", "start_session", command=["cat"], cwd="/", parent=parent)
    assert stolen["error"]["code"] == "FORBIDDEN"


def test_a_session_ends_itself_and_is_answered_first(lit: Engine) -> None:
    inside = lit.start("sh", name="self")["id"]
    answered = ask_inside(lit, inside, "plain", "end_session", session=inside, reason="my work is done", grace="0s")
    assert answered["result"]["state"] == "ending"
    waited = lit.call("wait_session", session=inside, until="ended", timeout="120s")
    assert waited["state"] == "ended"
    assert lit.show(inside)["ending"]["reason"] == "my work is done"
    assert lit.show(inside)["ending"]["by"] == f"session:{inside}"


def test_a_peer_that_is_gone_is_nobody(lit: Engine) -> None:
    other = lit.start("cat", name="other")["id"]
    inside = lit.start(*command(lit, lit.folder / "never", "gone", "kill_session", session=other, force=True))["id"]
    lit.call("wait_session", session=inside, until="ended", timeout="120s")
    assert lit.show(other)["state"] == "running"


def _held(lit: Engine) -> bool:
    """Whether the keeper that is there now holds the session: an event says when all are held."""
    return any(event["action"] == "keeper lost" for event in lit.events())


@pytest.mark.alone
@pytest.mark.parametrize("losses", ["shim", "keeper", "keeper then shim", "shim then keeper"])
def test_losing_holders_promotes_nobody(both: Engine, losses: str) -> None:
    """A double-forked, scrubbed process of a session whose holders are killed."""
    answer = both.folder / "answer"
    victim = both.start("cat", name="victim")["id"]
    words = " ".join(
        f"'{word}'" for word in command(both, answer, "waiting", "kill_session", session=victim, force=True)
    )
    inside = both.start("sh", "-c", f"{words}; exec sleep 100")["id"]
    assert wait_until(lambda: both.show(inside)["processes"] >= 2)
    for loss in losses.split(" then "):
        both.kill(both.shim(inside) if loss == "shim" else both.keeper())
        assert wait_until(lambda: both.call("get_status")["pid"])
        if loss == "shim":
            assert wait_until(lambda: both.show(inside)["holder_lost"] or both.show(inside)["state"] == "ended")
        else:
            assert wait_until(lambda: alive(*both.keeper()) and _held(both))
    (both.folder / "answer.go").touch()
    assert wait_until(lambda: answer.exists() or both.show(inside)["state"] == "ended")
    assert answer.exists(), both.show(inside)
    refused = json.loads(answer.read_text())
    # Still known as that session it may ask the operator; not known any more it may not even that.
    known = refused["error"]["message"].startswith(f"session:{inside} ")
    assert refused["error"]["code"] == ("APPROVAL_NEEDED" if known else "FORBIDDEN"), refused
    assert both.show(victim)["state"] == "running"


def test_a_known_agent_program_among_the_ancestors_is_that_agent(lit: Engine, tmp_path: Path) -> None:
    """A program called claude, outside every session: it is a session that owns what it starts, and is not the operator."""
    agent = tmp_path / "claude"
    shutil.copy("/bin/sh", agent)
    answers = [lit.folder / name for name in ("who", "started", "ended", "refused")]
    other = lit.start("cat", name="other")["id"]
    environment = {"PATH": os.environ["PATH"]}
    asked = [
        command(lit, answers[0], "plain", "get_status"),
        command(
            lit, answers[1], "plain", "start_session", command=["cat"], name="its", cwd="/", environment=environment
        ),
        command(lit, answers[2], "plain", "kill_session", session="its", force=True, grace="0s"),
        command(lit, answers[3], "plain", "kill_session", session=other, force=True),
    ]
    script = "; ".join(" ".join(f"'{word}'" for word in words) for words in asked)
    subprocess.run([str(agent), "-c", f"{script}; true"], check=True, timeout=200)
    who, started, ended, refused = (json.loads(answer.read_text()) for answer in answers)
    assert who["result"]["caller"].startswith("session:")
    assert f"session:{started['result']['parent']}" == who["result"]["caller"]
    assert started["result"]["name"] == "its"
    assert ended["result"]["state"] == "ended"
    assert refused["error"]["code"] == "APPROVAL_NEEDED"


def test_a_mark_in_the_environment_takes_rights_away(lit: Engine) -> None:
    lit.call("get_status")
    answer = lit.folder / "answer"
    subprocess.run(
        command(lit, answer, "plain", "stop_daemon", all=True), check=True, env={"CLAUDECODE": "1"}, timeout=200
    )
    assert json.loads(answer.read_text())["error"]["code"] == "FORBIDDEN"


@pytest.mark.alone
def test_a_daemon_first_asked_for_inside_a_session_is_not_part_of_it(both: Engine) -> None:
    """Keeper and daemon killed; a process inside the session calls the command line; the session is killed; both live on."""
    lamp = f"{sys.executable} -m lamplighter.frontends.cli.main"
    asked = f"{lamp} ls --json > {both.folder}/listed; touch {both.folder}/done"
    script = f"until [ -e {both.folder}/go ]; do sleep 0.02; done; {asked}; exec sleep 100"
    inside = both.start("sh", "-c", script, name="inside", environment=both.environment)["id"]
    os.kill(both.daemon()[0], signal.SIGSTOP)  # so that it does not start a keeper meanwhile
    both.kill(both.keeper())
    both.kill(both.daemon())
    (both.folder / "go").touch()
    assert wait_until((both.folder / "done").exists)
    assert [session["id"] for session in json.loads((both.folder / "listed").read_text())["sessions"]] == [inside]
    daemon, keeper = both.daemon(), both.keeper()
    ended = both.call("kill_session", session=inside, force=True, grace="0s")
    assert ended["state"] == "ended"
    assert {daemon[0], keeper[0]}.isdisjoint({process["pid"] for process in ended["certificate"]["processes"]})
    assert (both.daemon(), both.keeper()) == (daemon, keeper)
    assert both.call("get_status")["pid"] == daemon[0]


def test_holders_refuse_everybody_else(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    for path, operation in ((lit.home.shim_socket(session), "stop"), (lit.home.keeper_socket, "down")):
        sock = boot.connect(path)
        assert sock is not None
        answered = boot.ask(sock, {"op": operation, "n": 1, "grace": 0})
        assert answered is not None
        assert answered["error"]["code"] == "FORBIDDEN"
    assert lit.show(session)["state"] == "running"


def test_another_user_gets_nothing(lit: Engine) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    lit.call("get_status")
    answer = lit.folder / "answer"
    asked = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        *command(lit, answer, "plain", "get_status"),
    ]
    assert subprocess.run(asked, check=False, capture_output=True, timeout=200).returncode != 0
    assert not answer.exists()
    with pytest.raises(LampError):
        lit.show("nothing")
