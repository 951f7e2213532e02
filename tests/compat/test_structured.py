"""sessions_spawn with a structured agent, and kiro_chat over `kiro-cli acp`: a talk over ACP that ends with its task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import kiro_cli
from tests.support.engine import Engine, engine
from tests.support.mcp_client import McpClient, ToolError, outside
from tests.support.processes import none_left, wait_until


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    with engine() as made:
        made.environment["PATH"] = kiro_cli.install(made.folder / "bin", acp=True)
        made.environment["HOME"] = str(made.folder)
        yield made


@pytest.fixture
def work(shared: Engine, tmp_path: Path) -> str:
    return str(tmp_path)


def ended(shared: Engine, session: str) -> dict[str, Any]:
    return shared.call("wait_session", session=session, timeout="120s") and shared.show(session)


@pytest.fixture
def claw(shared: Engine) -> Iterator[McpClient]:
    with outside(shared, tools="openclaw") as (made, _):
        yield made


@pytest.fixture
def kiro(shared: Engine) -> Iterator[McpClient]:
    with outside(shared, tools="kiro") as (made, _):
        yield made


def test_a_run_does_its_task_and_leaves(shared: Engine, claw: McpClient, work: str, mark: str) -> None:
    given = {"agentId": "kiro", "runtime": "acp", "cwd": work}
    spawned = claw.call("sessions_spawn", task=f"child {mark}\nsay it is done", **given)
    shown = ended(shared, spawned["sessionId"])
    assert (shown["driver"], shown["kind"], shown["exit"]) == ("acp", "subagent", {"code": 0})
    assert "it is done" in str(claw.call("sessions_history", sessionKey=spawned["childSessionKey"]))
    assert none_left(mark)
    replied = shared.call("wait_session", session=spawned["sessionId"], until="reply", timeout="120s")
    assert (replied["reply"], replied["turn"]) == ("it is done", "done"), "also of one that has left"


def test_a_session_stays_and_is_spoken_to(shared: Engine, claw: McpClient, work: str) -> None:
    given = {"agentId": "kiro", "runtime": "acp", "mode": "session", "cwd": work}
    spawned = claw.call("sessions_spawn", task="say ready", **given)
    sent = claw.call("sessions_send", sessionKey=spawned["childSessionKey"], message="say\nsay two")
    assert (sent["status"], sent["reply"]) == ("ok", "two"), sent
    assert shared.show(spawned["sessionId"])["state"] == "running"
    claw.call("sessions_kill", sessionKey=spawned["childSessionKey"], force=True)


def test_who_does_not_speak_it(claw: McpClient, work: str) -> None:
    with pytest.raises(ToolError) as refused:
        claw.call("sessions_spawn", task="x", agentId="nobody", runtime="acp", cwd=work)
    assert "NO_SUCH_PROGRAM" in str(refused.value)


def test_kiro_chat_goes_on_over_acp(shared: Engine, kiro: McpClient, work: str) -> None:
    session = kiro.call("kiro_session_create", working_directory=work)["id"]
    first = kiro.call("kiro_chat", message="say hello there", session_id=session)
    assert (first["content"], first["is_complete"]) == ("hello there", True)
    again = kiro.call("kiro_chat", message="ask something\nrecall", session_id=session, stream=True)
    assert again["content"] == "<id-allow_once>say hello there", "trusted, and in the same conversation"
    kiro.call("kiro_session_clear", session_id=session)
    assert kiro.call("kiro_chat", message="recall", session_id=session)["content"] == ""
    runs = [each for each in shared.call("list_sessions", all=True)["sessions"] if each["name"].startswith("kiro:")]
    assert {(run["driver"], run["state"]) for run in runs} == {("acp", "ended")}
    history = kiro.call("kiro_history", session_id=session)
    assert [entry["role"] for entry in history["history"]] == ["user", "assistant"]


def test_what_fails_says_so(kiro: McpClient, work: str) -> None:
    session = kiro.call("kiro_session_create", working_directory=work)["id"]
    for message, said in (("fail no model", "no model"), ("die 3", "the agent is gone")):
        with pytest.raises(ToolError) as failed:
            kiro.call("kiro_chat", message=message, session_id=session)
        assert said in str(failed.value)
    task = kiro.call("kiro_chat_async", message="say first\ngate /never", session_id=session)["task_id"]
    assert wait_until(lambda: kiro.call("kiro_task_status", task_id=task)["new_content"] == "first")
    assert kiro.call("kiro_task_cancel", task_id=task)["success"]
    assert kiro.call("kiro_task_status", task_id=task)["status"] == "cancelled"


def test_an_older_kiro_is_spoken_to_as_before(shared: Engine, tmp_path: Path) -> None:
    shared.environment["PATH"] = kiro_cli.install(tmp_path / "bin")
    try:
        with outside(shared, tools="kiro") as (kiro, _):
            assert "hello" in kiro.call("kiro_chat", message="say hello")["content"]
    finally:
        shared.environment["PATH"] = f"{shared.folder / 'bin'}:{shared.environment['PATH']}"
