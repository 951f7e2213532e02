"""What a start would execute, said before it does; and which agents can be started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def preview(lit: Engine, *command: str, path: str = os.environ["PATH"], **arguments: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"cwd": "/", "environment": {"PATH": path}, **arguments}
    return lit.call("preview_start", command=list(command), **given)


@pytest.fixture
def claude(tmp_path: Path) -> str:
    """A PATH on which the agent is."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def test_it_says_what_would_run_and_starts_nothing(lit: Engine, claude: str) -> None:
    found = preview(lit, "sleep", "1000")
    assert (found["command"], found["cwd"], found["driver"]) == (["sleep", "1000"], "/", "terminal")
    assert found["path"].endswith("/sleep")
    agent = preview(lit, agent="claude", model="opus", prompt="say hello", path=claude)
    assert agent["agent"] == "claude"
    assert agent["command"][0] == "claude"
    assert {"opus", "say hello", "NEW"} <= set(agent["command"])
    assert lit.call("list_sessions", all=True)["sessions"] == []
    started = lit.start(agent="claude", model="opus", prompt="say hello", environment={"PATH": claude})
    real = lit.show(started["id"])
    assert [word if word != real["conversation"]["id"] else "NEW" for word in real["command"]] == agent["command"]


@pytest.mark.parametrize(
    ("command", "arguments", "code"),
    [
        (["no-such-program"], {}, Code.NO_SUCH_PROGRAM),
        ([], {}, Code.EMPTY_COMMAND),
        (["sleep", "1"], {"cwd": "/no/such"}, Code.NO_SUCH_FOLDER),
        (["sleep", "1"], {"max_age": "later"}, Code.BAD_INPUT),
        (["sleep", "1"], {"tmux": True, "headless": True}, Code.BAD_INPUT),
        (["sleep", "1"], {"model": "opus"}, Code.BAD_INPUT),
        ([], {"agent": "nobody"}, Code.NO_SUCH_PROGRAM),
        ([], {"agent": "nobody", "acp": True}, Code.NO_SUCH_PROGRAM),
    ],
)
def test_it_fails_as_a_start_would(lit: Engine, command: list[str], arguments: dict[str, Any], code: Code) -> None:
    with pytest.raises(LampError) as previewed:
        preview(lit, *command, **arguments)
    with pytest.raises(LampError) as started:
        lit.start(*command, **arguments)
    assert previewed.value.code is code
    assert previewed.value.document() == started.value.document()


def test_agents_are_listed_with_where_they_are(lit: Engine, claude: str) -> None:
    found = {one["name"]: one for one in lit.call("list_agents", environment={"PATH": claude})["agents"]}
    assert found["claude"]["path"] == f"{claude.partition(':')[0]}/claude"
    assert [found["claude"][name] for name in ("model", "resume", "acp")] == [True, True, True]
    nowhere = lit.call("list_agents", environment={"PATH": "/nowhere"})["agents"]
    assert {one["path"] for one in nowhere} == {None}
