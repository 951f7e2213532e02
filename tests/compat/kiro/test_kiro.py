"""The kiro tools, against a scripted kiro-cli: each tool, each fault of the original, each refusal."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.compat.kiro.failures import CODES, code_of
from lamplighter.compat.kiro.toolset import TOOLSET
from lamplighter.errors import Code, LampError
from tests.support import kiro_cli
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine, engine
from tests.support.mcp_client import LEGACY, MODERN, McpClient, RpcError, ToolError, inhabitant, outside
from tests.support.processes import marked, wait_until

THEIRS = {
    "SESSION_NOT_FOUND",
    "SESSION_LIMIT_REACHED",
    "SESSION_BUSY",
    "INVALID_MESSAGE",
    "INVALID_COMMAND",
    "COMMAND_TIMEOUT",
    "COMMAND_FAILED",
    "KIRO_CLI_NOT_FOUND",
}


def with_kiro(engine: Engine, home: Path) -> Engine:
    """Its clients have a kiro-cli on their PATH and a home of their own."""
    (home / ".kiro" / "agents").mkdir(parents=True)
    (home / "work").mkdir()
    engine.environment["PATH"] = kiro_cli.install(engine.folder / "bin")
    engine.environment["HOME"] = str(home)
    return engine


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    with engine() as made:
        yield made


@pytest.fixture
def kiro(shared: Engine, tmp_path: Path) -> Engine:
    """Each client is a caller of its own, so that tests can share a daemon; each test has a home of its own."""
    return with_kiro(shared, tmp_path)


@pytest.fixture
def client(kiro: Engine) -> Iterator[McpClient]:
    with outside(kiro, tools="kiro") as (made, _):
        yield made


def work(engine: Engine) -> str:
    return f"{engine.environment['HOME']}/work"


def refused(client: McpClient, tool: str, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        client.call(tool, **arguments)
    return caught.value


def until_done(client: McpClient, task: str) -> dict[str, Any]:
    last: dict[str, Any] = {}

    def done() -> bool:
        last.update(client.call("kiro_task_status", task_id=task))
        return last["is_done"]

    assert wait_until(done), last
    return last


def runs(note: Path) -> int:
    return len(note.read_text().split()) if note.exists() else 0


# -- what there is


def test_sixteen_tools_with_closed_schemas(client: McpClient) -> None:
    tools = client.request("tools/list", {})["tools"]
    inputs = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in tools}
    assert inputs == {
        "kiro_chat": {"message", "session_id", "stream"},
        "kiro_session_create": {"agent", "working_directory"},
        "kiro_session_list": set(),
        "kiro_session_switch": {"session_id"},
        "kiro_session_end": {"session_id"},
        "kiro_session_clear": {"session_id"},
        "kiro_session_save": {"path", "session_id"},
        "kiro_command": {"command", "session_id"},
        "kiro_agents_list": set(),
        "kiro_history": {"session_id", "limit"},
        "kiro_history_clear": {"session_id"},
        "kiro_chat_async": {"message", "session_id"},
        "kiro_task_status": {"task_id", "from_chunk_index"},
        "kiro_task_cancel": {"task_id"},
        "kiro_task_list": {"session_id", "include_done"},
        "kiro_pool_stats": set(),
    }
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert len(json.dumps(tools)) < 24_000


def test_an_unknown_argument_is_named_and_nothing_is_done(client: McpClient) -> None:
    error = refused(client, "kiro_session_create", working_dir="/")
    assert "working_dir" in error.text
    assert client.call("kiro_session_list")["count"] == 0


# -- chat


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_chat_makes_a_session_and_answers_with_what_was_printed(kiro: Engine, protocol: str) -> None:
    with outside(kiro, tools="kiro", protocol=protocol) as (client, _):
        reply = client.call("kiro_chat", message="say hello world")
        assert reply["content"] == "hello world \n(kiro_default)\n"
        assert reply["is_complete"] is True
        listed = client.call("kiro_session_list")
        assert [row["id"] for row in listed["sessions"]] == [reply["session_id"]] == [listed["active_session_id"]]
        assert re.fullmatch("session-[0-9a-f]{12}", reply["session_id"])
        again = client.call("kiro_chat", message="recall")
        assert again["session_id"] == reply["session_id"]
        assert again["content"].startswith("say hello world\n")


def test_a_message_goes_in_as_it_is(client: McpClient) -> None:
    text = "näïve ‘quotes’ $HOME `id` \\ -rf\n\n--help\n"
    assert client.call("kiro_chat", message=text)["content"].startswith("You said: näïve ‘quotes’ $HOME `id` \\ -rf")


def test_a_streamed_chat_tells_what_comes_when_it_comes(kiro: Engine, client: McpClient) -> None:
    gate = Path(work(kiro), "gate")
    arguments = {"message": f"say one\ngate {gate}\nsay two", "stream": True}
    params = {"name": "kiro_chat", "arguments": arguments, "_meta": {"progressToken": "p"}}
    number = client.begin("tools/call", params)

    def heard() -> str:
        told = [notice["message"] for notice in client.noticed("notifications/progress")]
        return "".join(
            message for message in told if not message.startswith("still at it")
        )  # before what is slow to begin

    assert wait_until(lambda: "one" in heard())
    assert "two" not in heard()
    gate.touch()
    result = client.result(number)["structuredContent"]
    assert result["content"] == "one \ntwo \n(kiro_default)\n"
    assert wait_until(lambda: heard() == result["content"])


def test_escape_sequences_are_taken_out_also_when_they_come_in_halves(kiro: Engine, client: McpClient) -> None:
    gate = Path(work(kiro), "gate")
    halves = ("c3", "a9"), ("1b5b33", "316d")
    message = "\n".join(f"raw {one}\ngate {gate}\nraw {two}" for one, two in halves)
    gate.touch()
    assert client.call("kiro_chat", message=f"{message}\nsay red")["content"] == "éred \n(kiro_default)\n"


@pytest.mark.parametrize("message", ["", "  \n ", "a\0b", "x" * 600_000])
def test_a_message_that_is_none(client: McpClient, message: str) -> None:
    assert refused(client, "kiro_chat", message=message).code == "INVALID_MESSAGE"
    assert client.call("kiro_session_list")["count"] == 0


def test_a_failure_is_an_error_with_what_was_printed(client: McpClient) -> None:
    error = refused(client, "kiro_chat", message="say so far\nwrong no credits\nfail 3")
    assert error.code == "COMMAND_FAILED"
    assert error.error["details"]["exit_code"] == 3
    assert "so far" in error.error["details"]["output"]
    assert "it went wrong" in error.text
    history = client.call("kiro_history")["history"]
    assert [entry["role"] for entry in history] == ["user"]


def test_without_kiro_cli_there_is_no_answer(kiro: Engine) -> None:
    kiro.environment["PATH"] = "/usr/bin:/bin"
    with outside(kiro, tools="kiro") as (client, _):
        calls: list[tuple[str, dict[str, Any]]] = [
            ("kiro_chat", {"message": "hello"}),
            ("kiro_chat_async", {"message": "hello"}),
            ("kiro_command", {"command": "/help"}),
            ("kiro_session_create", {}),
            ("kiro_agents_list", {}),
        ]
        for tool, arguments in calls:
            error = refused(client, tool, **arguments)
            assert error.code == "KIRO_CLI_NOT_FOUND"
            assert "MOCK" not in error.text
        assert client.call("kiro_session_list")["count"] == 0
        config = client.request("resources/read", {"uri": "kiro://config"})["contents"][0]["text"]
        assert json.loads(config)["kiro_cli"] is None


# -- sessions


def test_two_sessions_in_one_folder_have_a_conversation_each(kiro: Engine, client: McpClient) -> None:
    one, two = (client.call("kiro_session_create", working_directory=work(kiro))["id"] for _ in range(2))
    for name, session in (("apple", one), ("pear", two)):
        client.call("kiro_chat", message=f"say {name}", session_id=session)
    assert client.call("kiro_chat", message="recall", session_id=one)["content"].splitlines()[0] == "say apple"
    assert client.call("kiro_chat", message="recall", session_id=two)["content"].splitlines()[0] == "say pear"


def test_nobody_else_s_conversation_is_gone_on_with(kiro: Engine, client: McpClient) -> None:
    own = Path(kiro.environment["HOME"], ".kiro", "sessions", "cli")
    own.mkdir(parents=True)
    (own / "a.json").write_text(json.dumps({"cwd": work(kiro), "messages": ["the user's own"]}))
    session = client.call("kiro_session_create", working_directory=work(kiro))["id"]
    assert "own" not in client.call("kiro_chat", message="recall", session_id=session)["content"]
    assert "own" not in client.call("kiro_chat", message="recall", session_id=session)["content"]
    assert [path.name for path in own.iterdir()] == ["a.json"]


def test_a_session_keeps_its_agent_and_folder(kiro: Engine, client: McpClient) -> None:
    made = client.call("kiro_session_create", agent="reviewer", working_directory=work(kiro))
    assert (made["agent"], made["working_directory"], made["is_active"]) == ("reviewer", work(kiro), True)
    assert client.call("kiro_session_create", working_directory=work(kiro))["is_active"] is False
    assert client.call("kiro_session_list")["active_session_id"] == made["id"]
    assert client.call("kiro_chat", message="say hi")["content"] == "hi \n(reviewer)\n"


@pytest.mark.parametrize("folder", ["/nowhere/at/all", "/etc/passwd", "", "a\0b"])
def test_a_bad_working_directory_is_an_error(client: McpClient, folder: str) -> None:
    error = refused(client, "kiro_session_create", working_directory=folder)
    assert error.code in ("NO_SUCH_FOLDER", "BAD_INPUT")
    assert client.call("kiro_session_list")["count"] == 0


def test_ten_sessions_and_the_ended_do_not_count(kiro: Engine, client: McpClient) -> None:
    made = [client.call("kiro_session_create", working_directory=work(kiro))["id"] for _ in range(10)]
    assert refused(client, "kiro_session_create").code == "SESSION_LIMIT_REACHED"
    assert client.call("kiro_session_end", session_id=made[3]) == {"success": True, "session_id": made[3]}
    made.append(client.call("kiro_session_create", working_directory=work(kiro))["id"])
    assert client.call("kiro_session_list")["count"] == 10


def test_ending_the_active_one_makes_the_oldest_left_active(kiro: Engine, client: McpClient) -> None:
    one, two, three = (client.call("kiro_session_create", working_directory=work(kiro))["id"] for _ in range(3))
    assert client.call("kiro_session_switch", session_id=two) == {"success": True, "active_session_id": two}
    client.call("kiro_session_end", session_id=two)
    assert client.call("kiro_session_list")["active_session_id"] == one
    client.call("kiro_session_end", session_id=three)
    assert client.call("kiro_session_list")["active_session_id"] == one
    client.call("kiro_session_end", session_id=one)
    assert client.call("kiro_session_list") == {"sessions": [], "active_session_id": None, "count": 0}


def test_what_is_not_there_is_said_with_its_id(client: McpClient) -> None:
    session = client.call("kiro_session_create")["id"]
    client.call("kiro_session_end", session_id=session)
    for gone in (session, "session-000000000000", "../../etc", "x'; DROP TABLE kiro_sessions; --"):
        for tool in (
            "kiro_session_end",
            "kiro_session_switch",
            "kiro_session_clear",
            "kiro_history",
            "kiro_history_clear",
        ):
            error = refused(client, tool, session_id=gone)
            assert error.code == "SESSION_NOT_FOUND"
            assert error.error["details"]["session_id"] == gone
        assert refused(client, "kiro_chat", message="hi", session_id=gone).code == "SESSION_NOT_FOUND"
    unknown = "task-000000000000"
    assert client.call("kiro_task_status", task_id=unknown) == {"error": "Task not found", "task_id": unknown}
    said = "Task not found or already completed"
    assert client.call("kiro_task_cancel", task_id=unknown) == {"success": False, "task_id": unknown, "message": said}


def test_ending_in_the_middle_of_a_chat_ends_everything_of_it(kiro: Engine, client: McpClient, mark: str) -> None:
    session = client.call("kiro_session_create", working_directory=work(kiro))["id"]
    message = f"deaf\nchild {mark}\nchild {mark}\nsay up\nhang"
    number = client.begin("tools/call", {"name": "kiro_chat", "arguments": {"message": message}})
    assert wait_until(lambda: len(marked(mark)) == 2)
    client.call("kiro_session_end", session_id=session)
    assert not marked(mark)
    error = ToolError(client.result(number))
    assert error.code == "COMMAND_FAILED"
    assert "session was ended" in error.text
    assert client.call("kiro_task_list")["count"] == 0
    assert not (kiro.folder / "kiro" / session).exists()
    assert refused(client, "kiro_session_end", session_id=session).error["details"]["session_id"] == session


def test_what_a_message_leaves_behind_is_gone_with_it(client: McpClient, mark: str) -> None:
    assert "done" in client.call("kiro_chat", message=f"child {mark}\nsay done")["content"]
    assert not marked(mark)


def test_clearing_forgets_in_both_places_or_only_here(client: McpClient) -> None:
    client.call("kiro_chat", message="say apple")
    client.call("kiro_history_clear")
    assert client.call("kiro_history")["count"] == 0
    assert "apple" in client.call("kiro_chat", message="recall")["content"]
    assert client.call("kiro_session_clear")["success"] is True
    assert client.call("kiro_session_clear")["success"] is False  # there is nothing more to forget
    assert client.call("kiro_history")["count"] == 0
    assert "apple" not in client.call("kiro_chat", message="recall")["content"]
    assert "recall" in client.call("kiro_chat", message="recall")["content"]


def test_clearing_deletes_the_file_of_the_folder_and_names_it(kiro: Engine, client: McpClient) -> None:
    file = Path(work(kiro), ".kiro", "session.json")
    client.call("kiro_session_create", working_directory=work(kiro))
    none = {"success": False, "message": "No kiro-cli session file found", "path": str(file)}
    assert client.call("kiro_session_clear") == none
    file.parent.mkdir()
    file.write_text("{}")
    cleared = {"success": True, "message": f"Cleared kiro-cli session in {work(kiro)}", "path": str(file)}
    assert client.call("kiro_session_clear") == cleared
    assert not file.exists()
    file.mkdir()
    assert "cannot be deleted" in refused(client, "kiro_session_clear").text


def test_history_has_both_sides_the_newest_within_the_limit(client: McpClient) -> None:
    session = client.call("kiro_chat", message="say one")["session_id"]
    client.call("kiro_chat", message="say two")
    client.call("kiro_command", command="/usage")
    told = client.call("kiro_history", session_id=session)
    assert [(entry["role"], entry["content"].split()[0]) for entry in told["history"]] == [
        ("user", "say"),
        ("assistant", "one"),
        ("user", "say"),
        ("assistant", "two"),
    ]
    assert client.call("kiro_history", limit=1)["history"] == told["history"][-1:]
    assert refused(client, "kiro_history", limit=0).code == "BAD_INPUT"


def test_saving_is_kiro_s_own(kiro: Engine, client: McpClient) -> None:
    session = client.call("kiro_session_create", working_directory=work(kiro))["id"]
    client.call("kiro_chat", message="say kept")
    saved = client.call("kiro_session_save", path="talk.json")
    ran = {"success": True, "output": "Exported conversation state to talk.json\n", "error": None, "exit_code": 0}
    assert saved == {**ran, "session_id": session, "save_path": "talk.json"}
    assert json.loads(Path(work(kiro), "talk.json").read_text()) == ["say kept"]
    failed = client.call("kiro_session_save", path="missing/talk.json")
    assert (failed["success"], failed["exit_code"], failed["save_path"]) == (False, 1, "missing/talk.json")
    assert "No such file" in failed["error"]
    for path in ("", "a\0b", "talk.json\n/usage"):
        assert refused(client, "kiro_session_save", path=path).code == "BAD_INPUT"
    assert client.call("kiro_history")["count"] == 2


# -- the settings of kiro-cli-mcp


def test_its_environment_is_read(kiro: Engine, client: McpClient) -> None:
    other = Path(kiro.environment["HOME"], "elsewhere")
    other.mkdir()
    program = Path(kiro.environment["HOME"], "my-kiro")
    program.symlink_to(kiro.folder / "bin" / "kiro-cli")
    wanted = {
        "CLI_PATH": str(program),
        "DEFAULT_MODEL": "a-model",
        "DEFAULT_AGENT": "an-agent",
        "WORKING_DIRECTORY": str(other),
        "MAX_SESSIONS": "1",
        "MAX_ASYNC_TASKS": "7",
        "SESSION_TIMEOUT": "600",
        "COMMAND_TIMEOUT": "0",
        "POOL_ENABLED": "true",
        "LOG_LEVEL": "",
    }
    own = {f"KIRO_MCP_{name}": value for name, value in wanted.items()}
    place = {"HOME": kiro.environment["HOME"], "PATH": "/usr/bin:/bin", "LAMPLIGHTER_HOME": str(kiro.folder)}
    with inhabitant(kiro, tools="kiro", environment={**place, **own}) as agent:
        told = agent.client()
        assert told.call("kiro_chat", message="say hi")["content"] == "hi \n(an-agent, a-model)\n"
        assert told.call("kiro_session_list")["sessions"][0]["working_directory"] == str(other)
        assert refused(told, "kiro_session_create").code == "SESSION_LIMIT_REACHED"
        config = json.loads(told.request("resources/read", {"uri": "kiro://config"})["contents"][0]["text"])
        shown = (config["kiro_cli"], config["session_timeout"], config["max_async_tasks"], config["pool_enabled"])
        assert shown == (str(program), 600.0, 7, False)
    assert client.call("kiro_chat", message="say hi")["content"] == "hi \n(kiro_default)\n"


# -- commands, agents, the pool, resources


def test_a_command_runs_through_the_program(client: McpClient) -> None:
    ran = client.call("kiro_command", command="/usage")
    assert ran == {"success": True, "output": "0.1 credits\n", "error": "an estimate\n", "exit_code": 0}
    failed = client.call("kiro_command", command="/nonsense")
    assert failed == {"success": False, "output": "", "error": "error: unknown command /nonsense\n", "exit_code": 2}
    assert client.call("kiro_command", command="help me")["output"] == "You said: help me \n(kiro_default)\n"
    for wrong in ("", " \n", "/a\0b"):
        assert refused(client, "kiro_command", command=wrong).code == "INVALID_COMMAND"


def test_agents_are_what_the_program_and_its_files_say(kiro: Engine, client: McpClient) -> None:
    own = Path(kiro.environment["HOME"], ".kiro", "agents", "mine.json")
    own.write_text(json.dumps({"name": "mine", "description": "does it"}))
    Path(kiro.environment["HOME"], ".kiro", "agents", "bad.json").write_text("{")
    client.call("kiro_session_create", working_directory=work(kiro))
    listed = client.call("kiro_agents_list")
    assert [agent["name"] for agent in listed["agents"]] == ["bad", "kiro_default", "mine"]
    assert listed["agents"][2] == {"name": "mine", "description": "does it", "config_path": str(own)}
    assert client.call("kiro_pool_stats") == {"pool_stats": {"enabled": False}}


def test_resources_are_read(client: McpClient) -> None:
    session = client.call("kiro_session_create")["id"]
    assert [one["uri"] for one in client.request("resources/list", {})["resources"]] == [
        "kiro://agents",
        "kiro://config",
        "kiro://sessions",
    ]

    def read(uri: str) -> dict[str, Any]:
        return json.loads(client.request("resources/read", {"uri": uri})["contents"][0]["text"])

    assert read("kiro://sessions")["active_session_id"] == session
    assert read("kiro://config")["max_sessions"] == 10
    assert read("kiro://agents")["agents"][0]["name"] == "kiro_default"
    with pytest.raises(RpcError):
        read("kiro://nothing")


# -- tasks


def test_a_task_streams_and_an_index_always_gives_the_same(kiro: Engine, client: McpClient) -> None:
    gate = Path(work(kiro), "gate")
    begun = client.call("kiro_chat_async", message=f"say one\ngate {gate}\nsay two three")
    task = begun["task_id"]
    assert re.fullmatch("task-[0-9a-f]{12}", task)
    assert begun["status"] in ("pending", "running", "streaming")
    seen: list[dict[str, Any]] = []

    def first() -> bool:
        seen.append(client.call("kiro_task_status", task_id=task))
        return "one" in seen[-1]["new_content"]

    assert wait_until(first)
    early = seen[-1]
    assert (early["status"], early["is_done"], early.get("result")) == ("streaming", False, None)
    row = client.call("kiro_task_list")["tasks"][0]
    assert (row["task_id"], row["completed_at"]) == (task, None)
    assert row["started_at"] >= row["created_at"]
    gate.touch()
    done = until_done(client, task)
    assert done["status"] == "completed"
    assert done["result"] == "one \ntwo three \n(kiro_default)\n" == done["new_content"]
    chunks = done["new_chunks"]
    assert [chunk["index"] for chunk in chunks] == list(range(len(chunks)))
    assert [chunk["is_final"] for chunk in chunks] == [*[False] * (len(chunks) - 1), True]
    assert sorted(chunk["timestamp"] for chunk in chunks) == [chunk["timestamp"] for chunk in chunks]
    assert (done["last_chunk_index"], done["total_bytes_received"]) == (len(chunks) - 1, len(done["result"]))
    rest = client.call("kiro_task_status", task_id=task, from_chunk_index=early["next_chunk_index"])
    assert early["new_content"] + rest["new_content"] == done["new_content"]
    came = [(chunk["index"], chunk["content"]) for part in (early, rest) for chunk in part["new_chunks"]]
    assert came == [(chunk["index"], chunk["content"]) for chunk in chunks]
    assert client.call("kiro_task_status", task_id=task, from_chunk_index=10_000)["new_chunks"] == []
    assert client.call("kiro_task_list")["count"] == 0
    over = client.call("kiro_task_list", include_done=True, session_id=begun["session_id"])["tasks"]
    assert [(one["chunks_count"], one["duration_seconds"] > 0) for one in over] == [(len(chunks), True)]
    assert over[0]["completed_at"] >= over[0]["started_at"]


def test_a_busy_session_takes_no_second_message(kiro: Engine, client: McpClient) -> None:
    begun = client.call("kiro_chat_async", message="say up\nhang")
    for tool, arguments in (
        ("kiro_chat", {"message": "hi"}),
        ("kiro_chat_async", {"message": "hi"}),
        ("kiro_command", {"command": "/help"}),
        ("kiro_session_clear", {}),
    ):
        error = refused(client, tool, **arguments)
        assert error.code == "SESSION_BUSY"
        assert error.error["details"]["task_id"] == begun["task_id"]
    other = client.call("kiro_session_create", working_directory=work(kiro))["id"]
    assert client.call("kiro_chat", message="say hi", session_id=other)["content"].startswith("hi")
    assert client.call("kiro_task_cancel", task_id=begun["task_id"])["success"] is True
    assert client.call("kiro_chat", message="say again", session_id=begun["session_id"])["content"].startswith("again")


def test_two_messages_at_once_are_one(kiro: Engine, client: McpClient) -> None:
    client.call("kiro_session_create", working_directory=work(kiro))
    gate, note = Path(work(kiro), "gate"), Path(work(kiro), "note")
    arguments = {"message": f"note {note}\ngate {gate}"}
    numbers = [client.begin("tools/call", {"name": "kiro_chat", "arguments": arguments}) for _ in range(5)]
    wait_until(lambda: runs(note) == 1)
    gate.touch()
    results = [client.result(number) for number in numbers]
    good = [result for result in results if not result.get("isError")]
    assert len(good) == runs(note)
    assert {ToolError(result).code for result in results if result.get("isError")} <= {"SESSION_BUSY"}


def test_cancelling_leaves_no_child(client: McpClient, mark: str) -> None:
    task = client.call("kiro_chat_async", message=f"say before\ndeaf\nchild {mark}\nhang")["task_id"]
    assert wait_until(lambda: marked(mark))
    told = client.call("kiro_task_cancel", task_id=task)
    assert told["success"] is True
    assert not marked(mark)
    status = client.call("kiro_task_status", task_id=task)
    assert (status["status"], status["is_done"], status["problem"]["code"]) == ("cancelled", True, "COMMAND_FAILED")
    assert "error" not in status
    assert "before" in status["new_content"]
    again = client.call("kiro_task_cancel", task_id=task)
    assert again["success"] is True
    done = client.call("kiro_chat_async", message="say done")["task_id"]
    until_done(client, done)
    assert client.call("kiro_task_cancel", task_id=done)["success"] is False


def test_a_failed_task_says_why(client: McpClient) -> None:
    done = until_done(client, client.call("kiro_chat_async", message="fail 7")["task_id"])
    assert (done["status"], done["problem"]["details"]["exit_code"]) == ("failed", 7)
    assert done["error"] == f"COMMAND_FAILED: {done['problem']['message']}"


def test_a_great_answer_comes_in_pages(client: McpClient) -> None:
    task = client.call("kiro_chat_async", message="flood 12000")["task_id"]
    done = until_done(client, task)
    index, text = 0, ""
    while index < done["total_chunks"]:
        page = client.call("kiro_task_status", task_id=task, from_chunk_index=index)
        assert len(page["new_content"]) < 400_000
        index, text = page["next_chunk_index"], text + page["new_content"]
    assert text.count("\n") == 12001
    assert text == done["result"]


def test_a_hundred_tasks_are_kept(kiro: Engine, client: McpClient) -> None:
    first = client.call("kiro_chat_async", message="say first")["task_id"]
    until_done(client, first)
    with closing(sqlite3.connect(kiro.home.database)) as db, db:  # ninety-nine more would take a while
        columns = [row[1] for row in db.execute("PRAGMA table_info(kiro_turns)")]
        chosen = ", ".join(
            {"id": "id || ?", "key": "key || ?", "ended_at": "ended_at + 1"}.get(name, name) for name in columns
        )
        for number in range(99):
            db.execute(f"INSERT INTO kiro_turns SELECT {chosen} FROM kiro_turns WHERE id = ?", (number, number, first))
    db.close()
    assert client.call("kiro_task_list", include_done=True)["count"] == 100
    client.call("kiro_chat", message="say more")
    listed = client.call("kiro_task_list", include_done=True)
    assert listed["count"] == 100
    assert first not in {one["task_id"] for one in listed["tasks"]}
    assert client.call("kiro_task_status", task_id=first)["error"] == "Task not found"
    assert client.call("kiro_history")["count"] == 4


# -- limits of time


def test_a_session_that_nobody_speaks_to_ends_and_does_not_count(
    timed: tuple[Engine, Clockwork], tmp_path: Path
) -> None:
    kiro, clock = timed
    with_kiro(kiro, tmp_path)
    with outside(kiro, tools="kiro") as (client, _):
        session = client.call("kiro_session_create", working_directory=work(kiro))["id"]
        clock.advance(200)
        client.call("kiro_chat", message="say hi")
        clock.advance(200)
        assert client.call("kiro_session_list")["count"] == 1
        clock.advance(301)
        assert client.call("kiro_session_list") == {"sessions": [], "active_session_id": None, "count": 0}
        assert refused(client, "kiro_session_end", session_id=session).code == "SESSION_NOT_FOUND"


def test_a_message_that_hangs_in_silence_is_ended_and_said_to_be(
    timed: tuple[Engine, Clockwork], tmp_path: Path
) -> None:
    kiro, clock = timed
    with_kiro(kiro, tmp_path)
    with outside(kiro, tools="kiro") as (client, _):
        number = client.begin("tools/call", {"name": "kiro_chat", "arguments": {"message": "say up\nhang"}})
        assert wait_until(lambda: client.call("kiro_task_list")["count"] == 1)
        task = client.call("kiro_task_list")["tasks"][0]["task_id"]
        assert wait_until(lambda: "up" in client.call("kiro_task_status", task_id=task)["new_content"])

        def ended() -> bool:
            clock.advance(100)
            return client.call("kiro_task_status", task_id=task)["is_done"]

        assert wait_until(ended)
        assert ToolError(client.result(number)).code == "COMMAND_TIMEOUT"


# -- whose it is


def test_another_caller_neither_sees_nor_ends_them(kiro: Engine, client: McpClient) -> None:
    session = client.call("kiro_session_create", working_directory=work(kiro))["id"]
    task = client.call("kiro_chat_async", message="say up\nhang")["task_id"]
    place = {name: kiro.environment[name] for name in ("PATH", "HOME")}
    environment = {**place, "LAMPLIGHTER_HOME": str(kiro.folder)}
    with inhabitant(kiro, tools="kiro", environment=environment) as agent:
        other = agent.client()
        assert other.call("kiro_session_list")["count"] == 0
        assert other.call("kiro_task_list", include_done=True, session_id=session)["count"] == 0
        for tool in ("kiro_session_end", "kiro_session_switch", "kiro_session_clear", "kiro_history"):
            assert refused(other, tool, session_id=session).code == "SESSION_NOT_FOUND"
        assert refused(other, "kiro_chat", session_id=session, message="hi").code == "SESSION_NOT_FOUND"
        assert refused(other, "kiro_session_save", session_id=session, path="/tmp/x").code == "SESSION_NOT_FOUND"
        assert other.call("kiro_task_cancel", task_id=task)["success"] is False
        assert other.call("kiro_task_status", task_id=task)["error"] == "Task not found"
        mine = other.call("kiro_chat", message="say hi")["session_id"]
        second = agent.client()  # the same agent, another conversation with us
        assert second.call("kiro_session_list")["active_session_id"] == mine
    assert client.call("kiro_task_status", task_id=task)["is_done"] is False
    assert client.call("kiro_session_end", session_id=session)["success"] is True


# -- errors


def test_the_table_speaks_the_toolset_s_words() -> None:
    assert set(CODES.values()) | {"INVALID_MESSAGE", "INVALID_COMMAND"} == THEIRS
    for code in Code:
        assert code_of(LampError(code, "", "")) in THEIRS | {code.value}
    assert len(TOOLSET.tools) == 16
