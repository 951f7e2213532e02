"""`lamp uninstall --everything`: all of it goes, nothing else does, and not by mistake."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import none_left, wait_until


@pytest.fixture
def house(lit: Engine, tmp_path: Path) -> Path:
    """A home folder with an agent's own configuration, and Lamplighter installed into all there is."""
    home = tmp_path / "house"
    project = home / "shop"
    project.mkdir(parents=True)
    (home / ".claude.json").write_text('{"mine": 1}')
    lit.environment |= {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".data"),
    }
    # A link in /usr/local/bin would be this machine's own.
    path = [folder for folder in lit.environment["PATH"].split(":") if folder != "/usr/local/bin"]
    lit.environment |= {"PATH": ":".join(path)}
    for words in (["claude"], ["codex"], ["completion", "--shell", "bash"], ["service", "--no-start"]):
        assert lit.cli("install", *words).returncode == 0
    assert lit.cli("install", "claude", "--project", cwd=project).returncode == 0
    (lit.folder / "notes.txt").write_text("somebody else's")
    return home


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_all_of_it_is_shown_and_then_goes(lit: Engine, house: Path, mark: str) -> None:
    lit.start("bash", "-c", f"exec -a {mark} sleep 300", name="one")
    before = files(house)
    shown = lit.cli("uninstall", "--everything", "--dry-run")
    assert shown.returncode == 0
    for word in (
        ".claude.json",
        "shop/.mcp.json",
        "config.toml",
        "completions/lamp",
        "lamplighter.service",
        "/sessions",
    ):
        assert word in shown.stdout, shown.stdout
    assert "end    1 session" in shown.stdout
    assert files(house) == before
    asked = lit.cli("uninstall", "--everything")
    assert (asked.returncode, "no terminal to ask on" in asked.stderr) == (2, True)
    refused = lit.cli("uninstall", "--everything", "--yes", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (5, "ACTIVE")
    assert files(house) == before
    assert lit.show("one")["state"] == "running"
    gone = lit.cli("uninstall", "--everything", "--yes", "--end-sessions")
    assert gone.returncode == 0, gone
    assert none_left(mark)
    assert (files(house), (house / ".claude.json").read_text()) == ([".claude.json"], '{"mine": 1}')
    assert files(lit.folder) == ["notes.txt"], "what is not ours is left alone"
    assert "notes.txt is not ours" in gone.stderr
    again = lit.cli("uninstall", "--everything", "--yes")
    assert (again.returncode, "nothing of Lamplighter is here" in again.stdout) == (0, True)


def test_a_person_is_asked_and_may_say_no(lit: Engine, house: Path, person: Callable[..., Any]) -> None:
    before = files(house)
    someone = person("uninstall", "--everything")
    someone.until("Take all of this away?")
    someone.type("n\r")
    assert someone.finish() == 9
    assert files(house) == before


def test_no_agent_may(lit: Engine, house: Path) -> None:
    inside = lit.start(
        lit.python, "-m", "lamplighter.frontends.cli.main", "uninstall", "--everything", "--yes", "--end-sessions",
        headless=True, environment=lit.environment,
    )["id"]  # fmt: skip
    assert wait_until(lambda: lit.show(inside)["state"] == "ended")
    assert lit.show(inside)["ending"]["exit"] == {"code": 6}
    assert (house / ".claude.json").read_text() != '{"mine": 1}', "it is still installed"
