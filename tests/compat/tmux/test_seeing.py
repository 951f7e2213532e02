"""The tmux toolset's tools that only look, and what all seven say of names and of a tmux that is not there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from lamplighter.compat.tmux.act import survivors
from lamplighter.compat.tmux.toolset import failure
from lamplighter.errors import Code, LampError
from tests.support.engine import Engine, engine
from tests.support.mcp_client import LEGACY, MODERN, McpClient, ToolError, outside
from tests.support.processes import wait_until
from tests.support.tmux import Tmux

pytestmark = pytest.mark.shared

NAMED: dict[str, dict[str, Any]] = {
    "has_session": {},
    "list_windows": {},
    "capture_pane": {},
    "new_session": {},
    "send_keys": {"keys": "x"},
    "kill_session": {},
}


def refusal(client: McpClient, tool: str, **arguments: Any) -> str:
    """What the tool says no with: plain text, and nothing structured."""
    result = client.raw(tool, arguments)
    assert result.get("isError"), result
    assert result.get("structuredContent") is None
    return result["content"][0]["text"]


@contextmanager
def attached(tmux: Tmux, session: str, clients: int) -> Iterator[None]:
    """This many terminals at a session, as control clients are."""
    command = ["tmux", "-C", "-L", "default", "attach", "-t", f"={session}"]
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "env": tmux.environment}
    people = [subprocess.Popen(command, **options) for _ in range(clients)]
    try:
        count = ("display-message", "-p", "-t", f"={session}:", "#{session_attached}")
        assert wait_until(lambda: tmux.run(*count) == str(clients))
        yield
    finally:
        for person in people:
            person.communicate(timeout=200)


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_the_seven_tools_say_what_they_are(lit: Engine, protocol: str) -> None:
    with outside(lit, tools="tmux", protocol=protocol) as (client, _):
        tools = {tool["name"]: tool for tool in client.request("tools/list", {})["tools"]}
        assert client.call("list_sessions") == {"count": 0, "sessions": []}
    assert list(tools) == ["list_sessions", *NAMED]
    for name, tool in tools.items():
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "outputSchema" in tool
        assert len(tool["annotations"]) >= 4
        assert tool["annotations"]["readOnlyHint"] is (name in list(tools)[:4])
    kill = tools["kill_session"]
    assert kill["title"] == "Kill tmux session"
    assert (kill["annotations"]["destructiveHint"], kill["annotations"]["openWorldHint"]) == (True, False)
    assert set(kill["inputSchema"]["properties"]) == {"name"}
    lines = tools["capture_pane"]["inputSchema"]["properties"]["lines"]
    assert (lines["minimum"], lines["maximum"], lines["default"]) == (1, 10000, 100)
    assert tools["new_session"]["inputSchema"]["required"] == ["name"]
    assert tools["send_keys"]["inputSchema"]["required"] == ["name", "keys"]


def test_sessions_made_by_hand_are_listed(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "cat")
    tmux.new("other work", "cat")
    tmux.run("new-window", "-d", "-t", "=work:", "-n", "a\tb", "cat")
    tmux.run("split-window", "-d", "-t", "=work:0", "cat")
    found = client.call("list_sessions")
    assert found["count"] == 2
    assert [(row["name"], row["windows"], row["attached"]) for row in found["sessions"]] == [
        ("other work", 1, False),
        ("work", 2, False),
    ]
    for row in found["sessions"]:
        for moment in (row["created_at"], row["last_activity_at"]):
            assert abs(datetime.fromisoformat(moment).timestamp() - time.time()) < 60
    windows = client.call("list_windows", name="work")
    assert (windows["session"], windows["count"]) == ("work", 2)
    assert [(one["index"], one["active"], one["panes"]) for one in windows["windows"]] == [(0, True, 2), (1, False, 1)]


@pytest.mark.parametrize("clients", [1, 2])
def test_attached_with_any_number_of_clients(client: McpClient, tmux: Tmux, clients: int) -> None:
    tmux.new("work", "cat")
    with attached(tmux, "work", clients):
        assert client.call("list_sessions")["sessions"][0]["attached"] is True
    assert wait_until(lambda: client.call("list_sessions")["sessions"][0]["attached"] is False)


def test_a_name_is_matched_exactly(client: McpClient, tmux: Tmux) -> None:
    pid = tmux.new("work", "cat")
    for name in ("wor", "=work", "w*", "$0", "%0", "@0", "{start}", "!", "~", "WORK", "-t", "work;", "#{pid}"):
        assert client.call("has_session", name=name) == {"name": name, "exists": False}
        missing = f'session "{name}" does not exist'
        assert refusal(client, "list_windows", name=name) == missing
        assert refusal(client, "capture_pane", name=name) == missing
        assert refusal(client, "send_keys", name=name, keys="x") == missing
        assert refusal(client, "kill_session", name=name) == missing
    assert client.call("has_session", name="work") == {"name": "work", "exists": True}
    assert tmux.panes("work") == [pid]


def test_names_that_are_none(client: McpClient) -> None:
    wrong = {
        "name is required (non-empty string)": [None, "", 7, ["x"], {}, True],
        "name too long (max 100)": ["x" * 101, "ж" * 101, "x" * 2_000_000],
        "name cannot contain '.', ':', '|', or whitespace": [
            "a.b",
            "a:b",
            "a|b",
            "a b",
            "a\tb",
            "a\nb",
            "a\u00a0b",
            ".",
        ],
    }
    for message, names in wrong.items():
        for name in names:
            for tool, more in NAMED.items():
                assert refusal(client, tool, name=name, **more) == message
    for tool, more in NAMED.items():
        assert refusal(client, tool, **more) == "name is required (non-empty string)"
    for garbage in ("\0", "\x1b[2J", "\u202e", "';DROP/**/TABLE/**/sessions;--", "/etc/passwd", "x" * 100):
        assert client.call("has_session", name=garbage)["exists"] is False
        assert refusal(client, "kill_session", name=garbage) == f'session "{garbage}" does not exist'
    for unfit in ("\0", "\x1b[2J", "a\\b", "$x"):
        assert "tmux changes them" in refusal(client, "new_session", name=unfit)
    assert client.call("list_sessions")["count"] == 0


def test_unknown_arguments_are_named(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "cat")
    assert "force" in refusal(client, "kill_session", name="work", force=True)
    assert "Lines" in refusal(client, "capture_pane", name="work", Lines=3)
    assert "name" in refusal(client, "list_sessions", name="work")
    assert "lines" in refusal(client, "capture_pane", name="work", lines="many")
    assert tmux.sessions() == ["work"]


def test_the_last_lines_of_history_and_screen(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "seq 1 3000; cat")
    assert wait_until(lambda: "3000" in client.call("capture_pane", name="work")["text"].split())
    found = client.call("capture_pane", name="work", lines=5)
    assert found == {"session": "work", "lines": 5, "text": "2996\n2997\n2998\n2999\n3000"}
    assert client.call("capture_pane", name="work", lines=1)["text"] == "3000"
    for lines, taken in ((0, 1), (-1, 1), (10_001, 10_000)):
        assert client.call("capture_pane", name="work", lines=lines)["lines"] == taken
    everything = client.call("capture_pane", name="work", lines=10000)["text"].split("\n")
    assert everything[-1] == "3000"
    assert len(everything) > 1900  # tmux keeps two thousand lines by default
    assert len(client.call("capture_pane", name="work")["text"].split("\n")) == 100


def test_a_screen_with_little_on_it(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "echo; echo '  ключ 😀'; cat")
    assert wait_until(lambda: client.call("capture_pane", name="work", lines=3)["text"] == "\n  ключ 😀")
    tmux.new("blank", "cat")
    assert client.call("capture_pane", name="blank")["text"] == ""


def test_without_tmux_that_is_said_first() -> None:
    with engine(PATH="/nowhere") as lit, outside(lit, tools="tmux") as (client, _):
        for tool, more in {"list_sessions": {}, **NAMED}.items():
            for name in ("work", "", "a.b"):
                arguments = more if tool == "list_sessions" else {"name": name, **more}
                assert refusal(client, tool, **arguments).startswith("tmux is not installed")


@pytest.mark.alone
def test_a_server_that_goes_away(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    tmux.new("hand", "cat")
    assert client.call("new_session", name="work", command="cat")["status"] == "running"
    server = tmux.server()
    lit.kill(server)
    assert client.call("list_sessions") == {"count": 0, "sessions": []}
    for name in ("work", "hand"):
        assert client.call("has_session", name=name)["exists"] is False
        for tool, more in NAMED.items():
            if tool not in ("has_session", "new_session"):
                assert refusal(client, tool, name=name, **more) == f'session "{name}" does not exist'
    lit.call("wait_session", session="work", until="ended", timeout="120s")
    assert client.call("new_session", name="work", command="cat")["status"] == "running"
    assert tmux.sessions() == ["work"]


def test_a_server_that_does_not_answer(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "cat")
    server, _ = tmux.server()
    os.kill(server, 19)
    try:
        calls = {"list_sessions": {}, "kill_session": {"name": "work"}}
        asked = [client.begin("tools/call", {"name": tool, "arguments": given}) for tool, given in calls.items()]
        listed, killed = (client.result(number)["content"][0]["text"] for number in asked)
        assert "does not answer" in listed
        assert killed.startswith("tmux kill-session failed: the tmux server at ")
    finally:
        os.kill(server, 18)
    assert client.call("has_session", name="work")["exists"] is True


@pytest.mark.parametrize("code", list(Code))
def test_every_error_is_plain_text(code: Code) -> None:
    text, structured = failure(LampError(code, "it happened", "do this"))
    assert structured is None
    assert text
    assert code.value not in text


def test_an_error_of_a_tool_has_no_code(client: McpClient) -> None:
    with pytest.raises(ToolError) as caught:
        client.call("new_session", name="work", cwd="/no/such/folder")
    assert caught.value.error == {}
    assert "NO_SUCH_FOLDER" not in caught.value.text
    assert "/no/such/folder" in caught.value.text


def test_survivors_are_named() -> None:
    left = [{"pid": 42, "command": "dd if=/dev/nfs", "why": "stuck in the kernel"}, {"pid": 43, "command": "x"}]
    text, structured = failure(survivors(left))
    assert text.startswith("tmux kill-session failed: 2 of its processes are alive")
    assert "42 (dd if=/dev/nfs: stuck in the kernel)" in text
    assert structured is None
