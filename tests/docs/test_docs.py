"""Docs that cannot drift: every command, option, setting and code is in them, and the README's session runs as it is shown."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from lamplighter.domain.limits import Limits
from lamplighter.domain.session import Kind
from lamplighter.errors import Code
from lamplighter.frontends.cli import generate
from lamplighter.frontends.cli.statuses import STATUS
from lamplighter.settings import Settings, load_settings
from lamplighter.testing.engine import Engine

ROOT = Path(__file__).parent.parent.parent


def test_the_commands_are_documented_as_they_are() -> None:
    """Stale? python -m lamplighter.frontends.cli.generate"""
    assert (ROOT / "docs/commands.md").read_text() == generate.manual()


def test_every_picture_is_shown_and_every_one_shown_is_there() -> None:
    made = {path.name for path in (ROOT / "docs/images").iterdir()}
    shown = {
        name: set(re.findall(r"images/([\w-]+\.png)", (ROOT / name).read_text()))
        for name in ("README.md", "docs/page.md")
    }
    assert shown["docs/page.md"] == made
    assert {"sessions-light.png", "session-dark.png"} <= shown["README.md"] <= made


@pytest.mark.parametrize("setting", [field.name for field in fields(Settings) if field.name != "home"])
def test_every_setting_is_documented_with_its_default(setting: str, tmp_path: Path) -> None:
    row = next(
        line for line in (ROOT / "docs/settings.md").read_text().splitlines() if line.startswith(f"| `{setting}`")
    )
    shown = row.split("|")[2].strip().strip('`"')
    bare = load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    default = getattr(bare, setting)
    if shown == "none":
        assert not default
    else:
        said = {"LAMPLIGHTER_HOME": str(tmp_path), f"LAMPLIGHTER_{setting.upper()}": shown}
        assert getattr(load_settings(said), setting) == default


def test_the_example_of_limits_is_a_config_file(tmp_path: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs/settings.md").read_text(), re.S)
    assert block is not None
    (tmp_path / "config.toml").write_text(block[1])
    settings = load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    assert settings.limits_for(Kind.CRON) == Limits(age=7200.0, memory=4_000_000_000)
    assert settings.limits_for(Kind.SUBAGENT) == Limits(idle=1800.0)
    assert (settings.orphan_grace, settings.sessions_per_owner) == (900.0, 50)


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_documented_with_its_status(code: Code) -> None:
    row = next(line for line in (ROOT / "docs/errors.md").read_text().splitlines() if line.startswith(f"| `{code}`"))
    assert int(row.split("|")[2]) == STATUS[code]


def test_every_link_leads_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_session_runs_as_it_is_shown(lit: Engine, tmp_path: Path) -> None:
    block = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert block is not None
    for step in re.split(r"^\$ ", block[1], flags=re.M)[1:]:
        line, _, shown = step.partition("\n")
        words = shlex.split(line)
        assert words[0] == "lamp"
        command = [sys.executable, "-m", "lamplighter.frontends.cli.main", *words[1:]]
        given = {"env": lit.environment, "cwd": tmp_path, "timeout": 60}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, **given)
        assert ran.returncode == 0, ran.stderr
        assert _general(ran.stdout + ran.stderr) == _general(shown), line


def _general(text: str) -> list[str]:
    """Without ids, pids, signals' order and times."""
    lines = [re.sub(r"\s+", " ", re.sub(r"\b0[0-9a-z]{7}\b", "ID", line)).strip() for line in text.splitlines()]
    return sorted(
        re.sub(r"\b\d+(\.\d+)?s?\b", "N", line).replace("guarantee tree", "guarantee kernel") for line in lines
    )


def test_the_version_is_one(lit: Engine) -> None:
    shown = lit.cli("--version").stdout.split()[-1]
    assert lit.call("get_status")["version"] == shown
    assert json.loads(lit.cli("status", "--json").stdout)["version"] == shown


def test_every_core_tool_is_in_the_page_on_mcp() -> None:
    from lamplighter.frontends.mcp.core import TOOLSET

    page = (ROOT / "docs/mcp.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == [tool.name for tool in TOOLSET.tools]


def test_the_registrys_description_fits_the_package() -> None:
    from lamplighter import __version__

    document = json.loads((ROOT / "server.json").read_text())
    (package,) = document["packages"]
    assert document["version"] == package["version"] == __version__
    assert f"<!-- mcp-name: {document['name']} -->" in (ROOT / "README.md").read_text()
    assert len(document["description"]) <= 100
    assert [word["value"] for word in package["packageArguments"]] == ["mcp"]
