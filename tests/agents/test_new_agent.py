"""A new agent is one new file: with it in the folder of agents, all of Lamplighter knows the agent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamplighter
from tests.support import recording_agent
from tests.support.engine import Engine, engine
from tests.support.hooked import Hooked
from tests.support.leaving import conversation, playing, sleeper
from tests.support.processes import wait_until

LUMEN = """
import os

from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.hooks import START, Hooks, usual, usual_answer
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.setup import ConfigEntry, Setup, Site, usual_hooks
from lamplighter.domain.agent_command import AgentCommand, Mode

_HOOKS = Hooks("lumen", {START: "Begun"}, limit=10_000, read=usual, answer=usual_answer)


def _file(site: Site) -> str:
    return os.path.join(site.folder(".lumen"), "settings.json")


def _hooks(site: Site) -> list[ConfigEntry]:
    return usual_hooks(_HOOKS, _file(site), site, 10)


AGENT = Agent(
    "lumen",
    program=Program("lumen", frozenset({"lumen"}), marks=("LUMEN_SESSION",)),
    start=AgentCommand("lumen", ("lumen",), Mode(prompt=("--say", "{prompt}")), Mode(new=("--once",), needs_prompt=True)),
    hooks=_HOOKS,
    setup=Setup(_file, "~/.lumen/settings.json", hooks=_hooks),
    fingerprints=Fingerprints("lumen", sessions=("LUMEN_SESSION",), pids=("LUMEN_PID",)),
)
"""


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Lamplighter as it is, but for one more file in `agents`."""
    ours = Path(lamplighter.__file__).parent
    theirs = tmp_path_factory.mktemp("installed") / "lamplighter"
    (theirs / "agents").mkdir(parents=True)
    for folder in (ours, ours / "agents"):
        for each in folder.iterdir():
            if each.name not in ("agents", "__pycache__"):
                (theirs / each.relative_to(ours)).symlink_to(each)
    (theirs / "agents" / "lumen.py").write_text(LUMEN)
    home = tmp_path_factory.mktemp("home")
    with engine(PYTHONPATH=str(theirs.parent), HOME=str(home)) as made:
        yield made


def said(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_it_is_started_in_its_own_way(knowing: Engine, tmp_path: Path) -> None:
    path, record = recording_agent.install(tmp_path / "bin", "lumen"), tmp_path / "record"
    environment = {"PATH": path, "HOME": str(tmp_path), "RECORD": str(record)}
    started = knowing.start(agent="lumen", prompt="glow", environment=environment)
    assert wait_until(lambda: record.exists() and record.read_text().endswith("\n"))
    assert json.loads(record.read_text())["words"] == ["--say", "glow"]
    assert knowing.show(started["id"])["agent"] == "lumen"
    assert "lumen" in [agent["name"] for agent in knowing.call("list_agents")["agents"]]


def test_it_is_installed_and_uninstalled(knowing: Engine) -> None:
    settings = Path(knowing.environment["HOME"], ".lumen", "settings.json")
    assert "~/.lumen/settings.json" in knowing.cli("mcp", "--print-config", "lumen").stderr
    said(knowing.cli("install", "lumen"))
    found = json.loads(settings.read_text())
    assert "lamplighter" in found["mcpServers"]
    assert found["hooks"]["Begun"][0]["hooks"][0]["command"].endswith("hook lumen start")
    said(knowing.cli("uninstall", "lumen"))
    assert not settings.exists()


def test_its_hooks_are_answered(knowing: Engine, tmp_path: Path) -> None:
    agent = Hooked(knowing, tmp_path, "lumen")
    agent.hook("start", {"session_id": conversation(1), "cwd": str(tmp_path)})
    assert knowing.show(agent.id)["conversation"]["id"] == conversation(1)


def test_what_it_leaves_is_found(knowing: Engine, mark: str, tmp_path: Path) -> None:
    marks = {"LUMEN_SESSION": conversation(2), "LUMEN_PID": "{pid}"}
    with playing("lumen", tmp_path, [sleeper("job", mark, marks=marks)]) as player:
        player.kill()
        leaks = knowing.call("scan_host")["leaks"]
        found = [leak for leak in leaks if player.pids[0] in [each["pid"] for each in leak["processes"]]]
        assert [(leak["agent"], leak["session"]) for leak in found] == [("lumen", conversation(2))]


@pytest.mark.parametrize("words", ["install", "uninstall", "hook", "mcp --print-config", "start --agent"])
def test_a_shell_completes_it(knowing: Engine, words: str) -> None:
    assert said(knowing.cli("__complete", "zsh", *words.split(), "lu")) == "lumen\n"
