"""The daemon killed in the middle of a talk over ACP: nothing that either side said is lost, and nothing is said twice."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.support import acp_agent
from tests.support.engine import Engine
from tests.support.mortality import deaths
from tests.support.processes import wait_until

AGENT = acp_agent.__file__
SOMETIMES = pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.deep)])


def start(lit: Engine, log: Path, *options: str, **arguments: Any) -> str:
    command = (lit.python, AGENT, "--log", str(log), *options)
    return lit.start(*command, acp=True, **arguments)["id"]


def heard(log: Path) -> list[dict[str, Any]]:
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def methods(log: Path) -> list[str]:
    return [message["method"] for message in heard(log) if "method" in message]


def text_of(lit: Engine, session: str) -> str:
    return lit.call("read_output", session=session, mode="output")["text"]


def wait(lit: Engine, session: str) -> None:
    lit.call("wait_session", session=session, until="reply", timeout="120s")


def request_of(lit: Engine, session: str) -> str:
    def found() -> list[str]:
        listed = lit.call("list_approvals")["approvals"]
        return [each["id"] for each in listed if each["caller"] == f"session:{session}"]

    assert wait_until(lambda: len(found()) == 1)
    return found()[0]


@pytest.mark.timeout(600)
@SOMETIMES
def test_a_turn_survives_death_at_every_step(mortal: Engine, tmp_path: Path, every: int) -> None:
    for death in deaths(mortal, every, least=5):
        log, ran = tmp_path / f"log-{death.number}", tmp_path / f"ran-{death.number}"
        session = start(mortal, log, prompt="say hello")
        wait(mortal, session)
        death.arm()
        prompt = f"note {ran}\nsay one two\nask something\nsay three"
        mortal.call("send_input", session=session, text=prompt, key=uuid.uuid4().hex)
        request = request_of(mortal, session)
        mortal.call("decide_approval", request=request, decision="grant", key=uuid.uuid4().hex)
        wait(mortal, session)
        asked = prompt.replace("\n", "\n> ")
        told = "one two\n[asks for permission: something]\n[granted: something]\n<id-allow_once>three"
        assert text_of(mortal, session) == f"> say hello\nhello\n> {asked}\n{told}"
        assert ran.read_text() == "ran\n"
        assert methods(log) == ["initialize", "session/new", "session/prompt", "session/prompt"]
        assert len([message for message in heard(log) if "result" in message]) == 1
        actions = [event["action"] for event in mortal.events(session)]
        assert [actions.count(f"approval {what}") for what in ("asked", "granted", "used")] == [1, 1, 1]
        mortal.call("kill_session", session=session, force=True, grace="0s")


@pytest.mark.timeout(600)
@pytest.mark.deep
def test_a_beginning_survives_death_at_every_step(mortal: Engine, tmp_path: Path) -> None:
    for death in deaths(mortal, least=5):
        log = tmp_path / f"log-{death.number}"
        death.arm()
        session = start(mortal, log, prompt="say hello", key=uuid.uuid4().hex)
        wait(mortal, session)
        assert text_of(mortal, session) == "> say hello\nhello"
        assert methods(log) == ["initialize", "session/new", "session/prompt"]
        mortal.call("kill_session", session=session, force=True, grace="0s")


@pytest.mark.timeout(600)
@pytest.mark.deep
def test_an_end_survives_death_at_every_step(mortal: Engine, tmp_path: Path) -> None:
    for death in deaths(mortal, least=5):
        log = tmp_path / f"log-{death.number}"
        session = start(mortal, log, prompt=f"say hello\ngate {tmp_path / 'never'}")
        assert wait_until(lambda id=session: text_of(mortal, id).endswith("\nhello"))
        death.arm()
        ended = mortal.call("end_session", session=session, grace="0.2s", key=uuid.uuid4().hex)
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
        assert methods(log).count("session/cancel") <= 1
        assert methods(log).count("session/close") <= 1
        assert "[the turn is over: " in text_of(mortal, session)


def test_what_is_said_while_no_daemon_is_there(lit: Engine, tmp_path: Path) -> None:
    """In the middle of a message, with a prompt in the queue and a permission asked for meanwhile."""
    log, gate = tmp_path / "log", tmp_path / "gate"
    session = start(lit, log, prompt=f"say first words\ngate {gate}\nflood 2000\nask something\nsay last")
    assert wait_until(lambda: text_of(lit, session).endswith("first words"))
    lit.call("send_input", session=session, text="say more")
    lit.kill(lit.daemon())
    gate.touch()
    assert wait_until(lambda: "request_permission" in _output(lit, session))
    request = request_of(lit, session)
    assert lit.show(session)["verdict"] == "waiting"
    lit.kill(lit.daemon())
    lit.call("decide_approval", request=request, decision="refuse")
    lit.kill(lit.daemon())
    wait(lit, session)
    said = text_of(lit, session)
    flood = "".join(f"w{number} " for number in range(2000))
    assert said.count(f"first words{flood}\n[asks for permission: something]") == 1, said[-2000:]
    assert said.endswith("[refused: something]\n<id-reject_once>last\n> say more\nmore"), said[-300:]
    assert methods(log) == ["initialize", "session/new", "session/prompt", "session/prompt"]


def _output(lit: Engine, session: str) -> str:
    """The log itself, without a daemon."""
    folder = lit.folder / "sessions" / session
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.glob("log-*"))


def test_a_lost_holder_loses_and_doubles_nothing(lit: Engine, tmp_path: Path) -> None:
    log, gate = tmp_path / "log", tmp_path / "gate"
    session = start(lit, log, prompt=f"say one\ngate {gate}\nsay two")
    assert wait_until(lambda: text_of(lit, session).endswith("one"))
    lit.kill(lit.shim(session))
    gate.touch()
    lit.call("send_input", session=session, text="say three")
    wait(lit, session)
    assert text_of(lit, session).endswith("onetwo\n> say three\nthree")
    assert methods(log) == ["initialize", "session/new", "session/prompt", "session/prompt"]
