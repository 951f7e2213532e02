"""What `lamp mcp --print-config` prints is taken by the real programs as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from lamplighter.frontends.mcp.toolsets import load

if TYPE_CHECKING:
    from conftest import Meeting

pytestmark = pytest.mark.agents


def test_the_program_lists_the_server(meet: Callable[..., Meeting]) -> None:
    """Claude and Gemini connect to say how it is; Codex only reads its configuration."""
    meeting = meet()
    done = meeting.run("mcp", "list")
    line = next((line for line in (done.stdout + done.stderr).splitlines() if "lamplighter" in line), "")
    shown = {"codex": "enabled", "opencode": "connected"}.get(meeting.agent.name, "Connected")
    assert shown in line, done.stdout + done.stderr
    assert "Disconnected" not in line
    assert meeting.bridges() == []


def test_every_tool_reaches_the_model_and_one_is_called(meet: Callable[..., Meeting]) -> None:
    meeting = meet("list_sessions")
    with meeting.turn() as turn:
        assert turn.wait(100) == 0
    offered = " ".join(sorted(meeting.model.offered))
    assert [tool.name for tool in load("core").tools if tool.name not in offered] == []
    assert "sessions" in meeting.model.result, meeting.model.result


@pytest.mark.parametrize("meet", ["claude"], indirect=True)
def test_claude_takes_what_is_inside_the_braces(meet: Callable[..., Meeting]) -> None:
    """The other way that is told of: `claude mcp add-json`."""
    meeting = meet()
    config = meeting.agent.project / ".mcp.json"
    ((name, server),) = json.loads(config.read_text())["mcpServers"].items()
    config.unlink()
    assert meeting.run("mcp", "add-json", name, json.dumps(server)).returncode == 0
    done = meeting.run("mcp", "list")
    assert "Connected" in done.stdout, done.stdout + done.stderr
