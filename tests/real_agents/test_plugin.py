"""The plugin in plugins/claude, in the real Claude Code: valid, loaded, and its hooks do what the installed ones do."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from lamplighter import __version__
from tests.support.agent_home import LAMP
from tests.support.engine import Engine
from tests.support.model import Call, Say
from tests.support.places import ROOT

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("stage", ["claude"], indirect=True)]
PLUGIN = ROOT / "plugins" / "claude"
RULE = "never touch the lexer, it is vendored"


def test_it_is_valid(lit: Engine, stage: Callable[..., Stage]) -> None:
    done = stage(lit).agent.run("plugin", "validate", "--strict", str(PLUGIN))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_handoff_reaches_the_model(lit: Engine, stage: Callable[..., Stage]) -> None:
    scene = stage(lit, [[Call("list_sessions"), Say("done")]])  # for which Claude waits until its servers are there
    agent = scene.agent
    lit.call("store_records", records=[{"content": RULE, "type": "constraint"}], folder=str(agent.project))
    words = [*agent.headless("hello"), "--plugin-dir", str(PLUGIN)]
    environment = agent.environment() | {"LAMPLIGHTER_HOME": str(lit.folder)}
    environment["PATH"] = f"{LAMP.parent}{os.pathsep}{environment['PATH']}"
    given = {"cwd": str(agent.project), "environment": environment, "headless": True}
    session = lit.start("sh", "-c", f"exec {shlex.join(words)} </dev/null", **given)["id"]
    scene.sessions.append(session)
    scene.ended(session)
    assert any(RULE in json.dumps(body) for _, body in scene.model.requests), lit.output(session)[-3000:]
    actions = [event["action"] for event in lit.events(session)]
    assert "conversation" in actions
    assert "agent_left" in actions
    assert "lamplighter" in " ".join(scene.model.offered), "its MCP server is there too"


def test_its_version_is_ours(lit: Engine, stage: Callable[..., Stage]) -> None:
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == __version__
