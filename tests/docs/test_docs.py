"""Docs that cannot drift: every command, option, setting and code is in them, and the README's session runs as it is shown."""

from __future__ import annotations

import itertools
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
from lamplighter.frontends.cli.catalogue import load
from lamplighter.frontends.cli.exit_status import STATUS
from lamplighter.frontends.cli.parser.arguments import parse
from lamplighter.settings import Settings, load_settings
from scripts.docs import navigation
from tests.support.engine import Engine
from tests.support.places import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))


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


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    """Files and, on pages, headings: those of the same page too."""
    for target in links((ROOT / page).read_text()):
        if re.match(r"(https?|mailto):", target):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), f"{target}: there is no such file"
        if anchor:
            assert anchor in anchors(found.read_text()), f"{target}: there is no such heading"


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(page.path for page in navigation.PAGES) == PAGES


def links(text: str) -> list[str]:
    """What the links and pictures of a page lead to. Code has none."""
    prose = re.sub(r"(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", "", without_blocks(text), flags=re.DOTALL)
    shown = r'\]\(<?([^)\s>]+)[^)]*\)|\b(?:href|src)="([^"]+)"|^\[[^]^]+\]:\s*(\S+)'
    return ["".join(found) for found in re.findall(shown, prose, re.MULTILINE)]


def anchors(text: str) -> set[str]:
    """The names that code hosts give to the headings of a page, and those that it gives itself."""
    named = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)? *$", without_blocks(text), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-")
        same = (f"{slug}-{number}" if number else slug for number in itertools.count())
        named.add(next(name for name in same if name not in named))
    return named


def without_blocks(text: str) -> str:
    return re.sub(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_the_names_of_headings_are_those_of_code_hosts() -> None:
    page = "# `lamp ls`, and more!\n## A [link](x.md) – so\n## Twice\n## Twice\n"
    code = "```\n# no heading [no](link)\n```\n[one](a.md#b) `[no](c)`"
    assert anchors(page + code) == {"lamp-ls-and-more", "a-link--so", "twice", "twice-1"}
    assert links(page + code) == ["x.md", "a.md#b"]


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


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/howto-cron.md", "docs/howto-claude.md"])
def test_what_a_newcomer_is_told_to_type_is_understood(page: str) -> None:
    """Each line of a block without a language that begins with `lamp`, also in a crontab."""
    commands = load()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    lines = [
        found
        for language, block in blocks
        if not language
        for found in re.findall(r"^(?:[\d *]+)?(lamp .*)$", block, re.M)
    ]
    assert lines
    for line in lines:
        words = shlex.split(line.split(" && ")[0], comments=True)
        if not words[1].endswith(":"):  # what it prints, not what is typed
            parse(commands[words[1]], words[2:])
