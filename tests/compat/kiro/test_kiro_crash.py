"""The kiro tools when the daemon is killed: what was begun goes on, once, and what came of it is known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import kiro_cli
from tests.support.engine import Engine, engine
from tests.support.mcp_client import McpClient, ToolError, outside
from tests.support.processes import marked, wait_until


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    with engine() as made:
        yield made


@pytest.fixture
def kiro(shared: Engine, tmp_path: Path) -> Engine:
    shared.environment["PATH"] = kiro_cli.install(shared.folder / "bin")
    shared.environment["HOME"] = str(tmp_path)
    return shared


def begin(client: McpClient, tool: str, **arguments: Any) -> int:
    return client.begin("tools/call", {"name": tool, "arguments": arguments})


def ran(note: Path) -> list[str]:
    return note.read_text().split() if note.exists() else []


def is_done(client: McpClient, task: str) -> Callable[[], bool]:
    return lambda: client.call("kiro_task_status", task_id=task)["is_done"]


def test_a_chat_outlives_the_daemon_and_runs_once(kiro: Engine, tmp_path: Path) -> None:
    note, gate = tmp_path / "note", tmp_path / "gate"
    with outside(kiro, tools="kiro") as (client, _):
        session = client.call("kiro_session_create", working_directory=str(tmp_path))["id"]
        number = begin(client, "kiro_chat", message=f"note {note}\nsay one\ngate {gate}\nsay two", stream=True)
        assert wait_until(lambda: ran(note))
        kiro.kill(kiro.daemon())
        gate.touch()
        result = client.result(number)
        assert not result.get("isError"), result
        assert result["structuredContent"]["content"] == "one \ntwo \n(kiro_default)\n"
        assert result["structuredContent"]["session_id"] == session
        assert len(ran(note)) == 1
        history = client.call("kiro_history")["history"]
        assert [entry["role"] for entry in history] == ["user", "assistant"]
        assert client.call("kiro_session_list")["active_session_id"] == session
        assert "one" in client.call("kiro_chat", message="recall")["content"]


def test_a_task_s_result_is_kept_when_it_ends_without_a_daemon(kiro: Engine, tmp_path: Path) -> None:
    note, gate = tmp_path / "note", tmp_path / "gate"
    with outside(kiro, tools="kiro") as (client, _):
        task = client.call("kiro_chat_async", message=f"note {note}\nsay one\ngate {gate}\nsay two")["task_id"]
        assert wait_until(lambda: "one" in client.call("kiro_task_status", task_id=task)["new_content"])
        early = client.call("kiro_task_status", task_id=task)["new_chunks"]
        kiro.kill(kiro.daemon())
        gate.touch()
        assert wait_until(is_done(client, task))
        status = client.call("kiro_task_status", task_id=task)
        assert (status["status"], status["result"]) == ("completed", "one \ntwo \n(kiro_default)\n")
        assert status["new_chunks"][: len(early)] == early
        kiro.kill(kiro.daemon())
        assert client.call("kiro_task_status", task_id=task) == status
        assert len(ran(note)) == 1
        assert client.call("kiro_history")["count"] == 2


def test_an_end_goes_on_and_nothing_is_left(kiro: Engine, tmp_path: Path, mark: str) -> None:
    with outside(kiro, tools="kiro") as (client, _):
        session = client.call("kiro_session_create", working_directory=str(tmp_path))["id"]
        chat = begin(client, "kiro_chat", message=f"deaf\nchild {mark}\nhang")
        assert wait_until(lambda: marked(mark))
        end = begin(client, "kiro_session_end", session_id=session)
        kiro.kill(kiro.daemon())
        result = client.result(end)
        assert not result.get("isError"), result
        assert not marked(mark)
        assert ToolError(client.result(chat)).code in ("COMMAND_FAILED", "SESSION_NOT_FOUND")
        assert client.call("kiro_session_list")["count"] == 0


def test_a_cancel_whose_client_is_gone_too_is_gone_on_with(kiro: Engine, tmp_path: Path, mark: str) -> None:
    """The wish is in the store; the daemon that comes next carries it out by itself."""
    with outside(kiro, tools="kiro") as (client, bridge):
        client.call("kiro_chat_async", message=f"deaf\nchild {mark}\nhang")
        assert wait_until(lambda: marked(mark))
        bridge.kill()
    wish = "UPDATE kiro_turns SET stopped = 'cancelled'"
    script = f"import sqlite3; db = sqlite3.connect({kiro.home.database!r}); db.execute({wish!r}); db.commit()"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=200)
    kiro.kill(kiro.daemon())
    kiro.call("get_status")
    assert wait_until(lambda: not marked(mark))


@pytest.mark.parametrize("moment", ["", "birth.json", "log-*"])
def test_killed_while_it_begins_a_message_is_said_once(kiro: Engine, tmp_path: Path, moment: str) -> None:
    """Whatever there is of a chat's run when the daemon dies: the message runs once, or the call says that it did not."""
    note = tmp_path / "note"
    with outside(kiro, tools="kiro") as (client, _):
        client.call("kiro_session_create", working_directory=str(tmp_path))
        before = files(kiro, moment)
        number = begin(client, "kiro_chat", message=f"note {note}\nsay done")
        assert not moment or wait_until(lambda: files(kiro, moment) - before)
        kiro.kill(kiro.daemon())
        result = client.result(number)
        if result.get("isError"):
            assert len(ran(note)) <= 1, json.dumps(result)
        else:
            assert result["structuredContent"]["content"] == "done \n(kiro_default)\n"
            assert len(ran(note)) == 1
        assert client.call("kiro_chat", message="say next")["content"] == "next \n(kiro_default)\n"
        assert client.call("kiro_task_list")["count"] == 0


def files(kiro: Engine, name: str) -> set[Path]:
    return set((kiro.folder / "sessions").glob(f"*/{name}")) if name else set()


def test_ended_while_it_starts(kiro: Engine, tmp_path: Path, mark: str) -> None:
    with outside(kiro, tools="kiro") as (client, _):
        for _attempt in range(3):
            session = client.call("kiro_session_create", working_directory=str(tmp_path))["id"]
            chat = begin(client, "kiro_chat", message=f"child {mark}\nhang", session_id=session)
            end = begin(client, "kiro_session_end", session_id=session)
            assert not client.result(end).get("isError")
            assert ToolError(client.result(chat)).code in ("COMMAND_FAILED", "SESSION_NOT_FOUND")
            assert not marked(mark)
        assert client.call("kiro_task_list")["count"] == 0
