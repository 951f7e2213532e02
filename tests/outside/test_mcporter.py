"""mcporter, which turns MCP servers into commands: listed and called over `lamp mcp` and over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from tests.support.processes import alive, wait_until

if TYPE_CHECKING:
    from conftest import Reach


def server(reach: Reach, way: str, tools: str) -> list[str]:
    if way == "http":
        return ["--http-url", reach.url(tools), "--allow-http", "--header", f"Authorization=Bearer {reach.token}"]
    command, *arguments = reach.command(tools)
    given = [word for name, value in reach.passed_on.items() for word in ("--env", f"{name}={value}")]
    return ["--stdio", command, *(word for argument in arguments for word in ("--stdio-arg", argument)), *given]


def call(reach: Reach, way: str, tool: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
    words = ("call", *server(reach, way, "core"), "--tool", tool, "--args", json.dumps(arguments), "--output", "json")
    done = reach.node("mcporter", *words)
    assert done.stdout.strip(), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(("tools", "way"), [("core", "http"), *((tools, "stdio") for tools in TOOLSETS)])
def test_every_toolset_is_listed(reach: Reach, tools: str, way: str) -> None:
    done = reach.node("mcporter", "list", *server(reach, way, tools), "--name", "lamp", "--json", "--exit-code")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = json.loads(done.stdout)
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in load(tools).tools]


def test_a_whole_round_over_http(reach: Reach) -> None:
    """Each call is a process of its own; what the token started is the token's in the next one too."""
    status, started = call(reach, "http", "start_session", command=["cat"], name="round-mcporter", cwd="/")
    assert status == 0, started
    session = started["id"]
    _, listed = call(reach, "http", "list_sessions")
    assert [row["id"] for row in listed["sessions"]] == [session]
    _, sent = call(reach, "http", "send_input", session=session, text="a word")
    _, waited = call(
        reach, "http", "wait_session", session=session, until="text=a word", since=sent["cursor"], timeout="120s"
    )
    assert waited["met"].startswith("text")
    _, read = call(reach, "http", "read_output", session=session, mode="output")
    assert "a word" in read["content"][0]["text"]
    _, ended = call(reach, "http", "end_session", session=session)
    assert ended["state"] == "ended"


def test_a_client_of_its_own_each_time(reach: Reach) -> None:
    """Over stdio each call is a client that was started again: it sees what the one before started, and may end it."""
    status, started = call(reach, "stdio", "start_session", command=["cat"], name="left-by-mcporter", cwd="/")
    assert status == 0, started
    _, found = call(reach, "stdio", "get_session", session="left-by-mcporter")
    assert found["id"] == started["id"]
    pid, start = map(int, reach.engine.show(started["id"])["owner"].removeprefix("client:").split("@"))
    assert wait_until(lambda: not alive(pid, start))
    status, ended = call(reach, "stdio", "end_session", session=started["id"])
    assert (status, ended["state"]) == (0, "ended"), ended
