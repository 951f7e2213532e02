"""Verdicts that rest on somebody else: a parent, an owner, a person who is attached, a job put aside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.errors import LampError
from tests.support import asker
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.mcp_client import outside
from tests.support.processes import wait_until

Timed = tuple[Engine, Clockwork]


def becomes(lit: Engine, session: str, verdict: str) -> bool:
    return wait_until(lambda: lit.show(session)["verdict"] == verdict)


def test_a_session_whose_agent_is_gone_is_orphaned(timed: Timed, tmp_path: Path) -> None:
    """An agent outside every session starts one, and dies."""
    lit, clock = timed
    agent, answer = tmp_path / "claude", lit.folder / "answer"
    shutil.copy("/bin/sh", agent)
    arguments = json.dumps(
        {"command": ["bash", "--norc"], "name": "its", "cwd": "/", "environment": {"PATH": os.environ["PATH"]}}
    )
    lit.call("get_status")
    words = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", "start_session", arguments]
    script = " ".join(f"'{word}'" for word in words)
    with subprocess.Popen([str(agent), "-c", f"{script}; read x"], stdin=subprocess.PIPE) as running:
        assert wait_until(answer.exists)
        clock.advance(60)
        assert becomes(lit, "its", "idle")
        assert lit.show(lit.show("its")["parent"])["pid"] == running.pid
    clock.advance(60)
    assert becomes(lit, "its", "orphaned")
    assert lit.show("its")["evidence"][0] == "the session that started it has ended"


def test_an_orphan_that_sleeps_is_orphaned(timed: Timed) -> None:
    lit, clock = timed
    parent = lit.start("cat")["id"]
    child = lit.start("sh", "-c", "sleep 300; true", parent=parent)["id"]
    clock.advance(60)
    assert becomes(lit, child, "working")
    lit.call("kill_session", session=parent, force=True, grace="0s")
    assert becomes(lit, child, "orphaned")
    assert lit.show(child)["evidence"][0] == "the session that started it has ended; waits for sleep"


def test_what_a_client_left_is_orphaned_after_ten_minutes(timed: Timed) -> None:
    """A client that is started again within them finds it; what computes goes on, and says so."""
    lit, clock = timed
    with outside(lit) as (client, bridge):
        for name, script in (("sleeps", "sleep 3000; true"), ("computes", "while :; do :; done")):
            client.call("start_session", command=["sh", "-c", script], name=name, cwd="/")
        clock.advance(60)
        assert becomes(lit, "sleeps", "working")
    gone = f"the client that started it (process {bridge.pid}) is gone"
    passed = 0.0

    def is_orphaned() -> bool:
        """The first look after it went begins the ten minutes."""
        nonlocal passed
        found = lit.show("sleeps")["verdict"]
        assert found == "orphaned" or gone not in lit.show("computes")["evidence"] or passed >= 600
        clock.advance(100)
        passed += 100
        return found == "orphaned"

    assert wait_until(is_orphaned)
    assert passed > 600
    assert lit.show("sleeps")["evidence"][0].startswith(gone)
    assert becomes(lit, "computes", "working")
    assert gone in lit.show("computes")["evidence"]


def test_an_orphan_that_works_is_working(timed: Timed) -> None:
    lit, clock = timed
    parent = lit.start("cat")["id"]
    child = lit.start("sh", "-c", "while :; do :; done", parent=parent)["id"]
    lit.call("kill_session", session=parent, force=True, grace="0s")
    clock.advance(3600)
    assert becomes(lit, child, "working")
    assert "the session that started it has ended" in lit.show(child)["evidence"]


def test_a_job_that_was_put_aside_is_stuck(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start("bash", "--norc", "-i")["id"]
    lit.call("send_input", session=session, text="sleep 300")
    assert wait_until(lambda: lit.show(session)["processes"] == 2)
    lit.call("send_input", session=session, text="C-z", keys=True)
    assert wait_until(lambda: any(process["state"] == "T" for process in lit.show(session)["tree"]))
    clock.advance(3600)
    assert becomes(lit, session, "stuck")
    lit.call("send_input", session=session, text="fg")
    assert becomes(lit, session, "working")


def test_people_who_are_attached_make_it_active(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start("bash", "--norc")["id"]
    with lit.connect() as sock:
        sock.sendall(json.dumps({"id": 1, "op": "attach_session", "args": {"session": session}}).encode() + b"\n")
        assert wait_until(lambda: lit.show(session)["attached"] == 1)
        clock.advance(60)
        assert becomes(lit, session, "idle")
        with pytest.raises(LampError, match="is active: idle") as refused:
            lit.call("kill_session", session=session)
        assert refused.value.code == "ACTIVE"


def test_a_look_that_has_nothing_to_compare_with_kills_nothing(timed: Timed) -> None:
    """Computes since a moment ago, in a session that was quiet for a day while no daemon ran."""
    lit, clock = timed
    session = lit.start("sh", "-c", "read x; while :; do :; done")["id"]
    clock.advance(60)
    assert becomes(lit, session, "waiting")
    lit.kill(lit.daemon())
    lit.call("send_input", session=session, text="go")
    clock.advance(86400)
    with pytest.raises(LampError, match="is active: working"):
        lit.call("kill_session", session=session)
