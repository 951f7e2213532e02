"""Hooks that `lamp install` has set up, in the real programs: the hand-off reaches the model, what they tell arrives."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.agent_home import LAMP, Agent
from tests.support.engine import Engine

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = pytest.mark.agents
RULE = "never touch the lexer, it is vendored"
EVERY = pytest.mark.parametrize("stage", ["claude", "codex", "gemini", "opencode"], indirect=True)
HOOKED = pytest.mark.parametrize("stage", ["claude", "codex", "gemini"], indirect=True)


def lamp(lit: Engine, agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**lit.environment, "HOME": str(agent.home)}
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        environment.pop(name, None)
    done = subprocess.run(
        [str(LAMP), *words], env=environment, cwd=agent.project, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def turn(agent: Agent, prompt: str = "hello") -> list[str]:
    """A headless turn. Codex runs hooks once they are trusted, which its user does in its terminal; or this way, for one run."""
    words = agent.headless(prompt)
    if agent.name == "codex":
        words.insert(words.index("exec") + 1, "--dangerously-bypass-hook-trust")
    return words


def run(scene: Stage) -> str:
    """To its end, in a session. Standard input is at its end: Codex would wait for the rest of its task."""
    agent = scene.agent
    command = f"exec {shlex.join(turn(agent))} </dev/null"
    given = {"cwd": str(agent.project), "environment": agent.environment(), "headless": True}
    session: str = scene.engine.start("sh", "-c", command, **given)["id"]
    scene.sessions.append(session)
    scene.ended(session)
    return session


def actions(lit: Engine, session: str) -> list[str]:
    return [event["action"] for event in lit.events(session)]


@EVERY
def test_the_handoff_reaches_the_model_and_events_arrive(lit: Engine, stage: Callable[..., Stage]) -> None:
    scene = stage(lit)
    agent = scene.agent
    before = files(agent.home)
    lamp(lit, agent, "install", agent.name)
    record = {"content": RULE, "type": "constraint"}
    lit.call("store_records", records=[record], folder=str(agent.project))
    session = run(scene)
    bodies = [json.dumps(body) for _, body in scene.model.requests]
    assert any(RULE in body for body in bodies), (lit.output(session)[-3000:], scene.model.refused)
    happened = actions(lit, session)
    assert "conversation" in happened
    assert "agent_left" in happened or agent.name == "opencode", lit.output(session)[-3000:]
    lamp(lit, agent, "uninstall", agent.name)
    after = files(agent.home)
    changed = {name for name in before if after.get(name) != before[name]}
    own = {".claude.json", ".codex/config.toml", ".config/opencode/opencode.json"}
    assert changed <= own, "which the agents themselves write into"
    configured = [
        data
        for name, data in after.items()
        if name.endswith((".claude.json", "settings.json", ".toml", "hooks.json", "opencode.json"))
    ]
    assert not [data for data in configured if str(LAMP).encode() in data]


@HOOKED
@pytest.mark.parametrize("daemon", ["down", "hanging"])
def test_without_an_answer_it_works_as_ever(lit: Engine, stage: Callable[..., Stage], daemon: str) -> None:
    """The turn is answered, and nothing is said of hooks that failed."""
    scene = stage(lit)
    agent = scene.agent
    lamp(lit, agent, "install", agent.name)
    for path in agent.home.rglob("*"):
        if path.suffix in (".json", ".toml") and path.is_file():
            # The hooks alone are tried here: a server that does not answer is for others to wait for.
            text = path.read_text().replace(f'"{lit.folder}"', '"/proc/nowhere"')
            path.write_text(text.replace(f"={lit.folder} ", "=/proc/nowhere ") if daemon == "down" else text)
    lit.call("get_status")
    pid, _ = lit.daemon()
    os.kill(pid, signal.SIGSTOP)
    try:
        done = subprocess.run(
            turn(agent),
            cwd=agent.project,
            env=agent.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "STUB-REPLY" in done.stdout
    assert "hook error" not in (done.stdout + done.stderr).lower()
