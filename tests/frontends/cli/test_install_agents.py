"""`lamp install AGENT` and `lamp uninstall AGENT`: changed as shown and no further, once, and as it was again to the byte."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from lamplighter.agents import names_with
from lamplighter.frontends.cli.commands.install import TARGETS
from lamplighter.frontends.cli.installer import json_text
from lamplighter.frontends.cli.main import main
from tests.support.engine import Engine, engine
from tests.support.hooked import Hooked
from tests.support.processes import wait_until

Lamp = Callable[..., subprocess.CompletedProcess[str]]
SERVERS = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
}
MINE = {
    "claude": '{\n    "numStartups": 3, "mcpServers": {"mine": {"command": "x"}},\n    "z": 1\n}',
    "codex": '# mine\nmodel = "o"\n\n[mcp_servers.mine]\ncommand = "x" # no newline at its end',
    "gemini": '{\r\n\t// dark\r\n\t"ui": {"theme": "dark",},\r\n}\r\n',
    "opencode": '{"$schema": "https://opencode.ai/config.json"}\n',
    "cursor": '{"mcpServers":{}}',
    "vscode": '{\n\t// mine\n\t"servers": {\n\t\t"mine": {"command": "x"} // it\n\t}\n}\n',
}
SETTINGS = """\
{
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
  }
}
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def at_home(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lamp:
    """The command with a home folder of its own, and no daemon: none of this needs one. In this process: it is many times."""
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(house))
    monkeypatch.setenv("LAMPLIGHTER_HOME", str(tmp_path / "state"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main(list(words))
        return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())

    return run


def done(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def place(house: Path, agent: str, text: str) -> Path:
    path = house / SERVERS[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def hooks_in(path: Path) -> dict[str, list[str]]:
    found = json.loads(path.read_text())["hooks"]
    return {name: [hook["command"] for group in groups for hook in group["hooks"]] for name, groups in found.items()}


def test_the_command_line_knows_every_agent() -> None:
    assert set(names_with("setup")) == set(TARGETS) - {"service", "completion"} == set(SERVERS)


@pytest.mark.parametrize("agent", SERVERS)
def test_from_nothing_and_back_to_nothing(at_home: Lamp, house: Path, agent: str) -> None:
    shown = done(at_home("install", agent, "--dry-run"))
    assert "would write" in shown
    assert files(house) == {}
    said = done(at_home("install", agent))
    assert SERVERS[agent] in said
    written = files(house)
    assert SERVERS[agent] in written
    assert "nothing to do" in done(at_home("install", agent))
    assert files(house) == written
    done(at_home("uninstall", agent))
    assert list(house.iterdir()) == [], "folders that were made for it are gone too"
    assert "nothing to do" in done(at_home("uninstall", agent))


@pytest.mark.parametrize("agent", SERVERS)
def test_what_is_there_stays_and_comes_back_to_the_byte(at_home: Lamp, house: Path, agent: str) -> None:
    path = place(house, agent, MINE[agent])
    path.chmod(0o640)
    before = files(house)
    done(at_home("install", agent))
    text = path.read_bytes().decode()
    words = re.findall(r"[\w$./#]+", MINE[agent])
    assert [word for word in words if word not in text] == []
    assert "lamplighter" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    done(at_home("uninstall", agent))
    assert files(house) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


FILES = {
    "claude": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "gemini": [".gemini/settings.json"],
    **{agent: [SERVERS[agent]] for agent in ("opencode", "cursor", "vscode")},
}
JSONS = [
    "",
    "{}",
    "{ }",
    "{\r\n\r\n}",
    '{"hooks": {"Stop": []}}',
    '{"mine": 1,"hooks":{}, "mcpServers" :{ },"servers":{\n},"mcp":{}  }\n\n',
    '\ufeff{\r\n\t"hooks": { // none yet\r\n\t\t"Stop": [ ], "SessionStart": [{"hooks": [ ]}]\r\n\t},\r\n\t"mine": 1\r\n}',
    '{"z": 0, "mine": 1, "a": 0,\n"mcpServers": {"lamplighter":{"command":"/old"  } }, /* gone */ "servers" : {\n}}',
    '// mine\n{\n   "hooks": {"Stop": [ {"matcher": "x","hooks":[]} ] /* none */ },\n   "mine": 1,\n}\n// end',
]
TOMLS = [
    "",
    "\n",
    "\ufeff# mine\r\n[mine]\r\nmine = 1\r\n[mcp_servers]",
    "mine = 1 # and no newline",
    '# top\n[mcp_servers.lamplighter]   # old\ncommand="/old"\n\n# next\n[mine]\nmine = 1\n\n\n',
]
EVERY_FILE = [(agent, file, text) for agent in FILES for file in FILES[agent]
              for text in (TOMLS if file.endswith(".toml") else JSONS)]  # fmt: skip


def edited(text: str) -> str:
    """As somebody changes it who leaves alone what lamp wrote: in the middle, and at the end."""
    text = text.replace("mine = 1", "mine  =  2\nyours = []").replace('"mine": 1', '"mine" :2,"yours":{ "x": []}')
    return text + "\n\n"


@pytest.mark.parametrize(("agent", "file", "text"), EVERY_FILE)
@pytest.mark.parametrize("changed", [False, True], ids=["as installed", "changed since"])
def test_every_byte_comes_back(at_home: Lamp, house: Path, agent: str, file: str, text: str, changed: bool) -> None:
    path = house / file
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(text.encode())
    done(at_home("install", agent))
    assert b"lamp" in path.read_bytes()
    if changed:
        path.write_bytes(edited(path.read_bytes().decode()).encode())
    done(at_home("uninstall", agent))
    assert path.read_bytes().decode() == (edited(text) if changed else text)


@pytest.mark.parametrize(("agent", "file", "text"), [one for one in EVERY_FILE if "old" in one[2] or "Stop" in one[2]])
def test_a_file_that_its_agent_wrote_anew_says_the_same(
    at_home: Lamp, house: Path, agent: str, file: str, text: str
) -> None:
    """In a form of its own, with one thing more in it: nothing of ours is found as it was written."""
    path = house / file
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(text.encode())
    read: Callable[[str], Any] = tomllib.loads if file.endswith(".toml") else _jsonc
    before = read(text.removeprefix("\ufeff"))
    done(at_home("install", agent))
    written = read(path.read_text().removeprefix("\ufeff"))
    path.write_text(
        _as_toml({**written, "new": {"x": 1}}) if read is tomllib.loads else json.dumps({**written, "new": {"x": 1}})
    )
    done(at_home("uninstall", agent))
    assert read(path.read_text()) == {**before, "new": {"x": 1}}


def _jsonc(text: str) -> Any:
    return json_text.value_of(text, json_text.parse(text))


def _as_toml(document: dict[str, Any], above: str = "") -> str:
    values = "".join(
        f"{name} = {json.dumps(value)}\n" for name, value in document.items() if not isinstance(value, dict)
    )
    tables = [
        f"[{above}{name}]\n{_as_toml(value, f'{above}{name}.')}"
        for name, value in document.items()
        if isinstance(value, dict)
    ]
    return values + "".join(tables)


def test_what_is_registered_is_what_is_printed(at_home: Lamp, house: Path) -> None:
    for agent in ("claude", "codex"):
        done(at_home("install", agent))
        printed, text = done(at_home("mcp", "--print-config", agent)), (house / SERVERS[agent]).read_text()
        read: Callable[[str], Any] = tomllib.loads if agent == "codex" else json.loads
        assert read(text) == read(printed)


def test_hooks_of_others_stay(at_home: Lamp, house: Path) -> None:
    settings = house / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    done(at_home("install", "claude"))
    found = hooks_in(settings)
    assert set(found) == {"SessionStart", "Stop", "PreCompact", "SessionEnd"}
    assert found["Stop"][0] == "say done"
    assert found["Stop"][1].endswith("hook claude stop")
    assert len(found["Stop"]) == 2
    done(at_home("uninstall", "claude"))
    assert settings.read_text() == SETTINGS


def test_what_changed_since_keeps_its_change(at_home: Lamp, house: Path) -> None:
    """As when Claude writes its settings anew: in a form of its own, with more in them; and another hook in our group."""
    settings = house / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    done(at_home("install", "claude"))
    changed = json.loads(settings.read_text())
    changed["model"] = "opus"
    changed["hooks"]["SessionEnd"][0]["hooks"].append({"type": "command", "command": "say bye"})
    settings.write_text(json.dumps(changed, indent=4))
    servers = house / ".claude.json"
    servers.write_text(json.dumps({**json.loads(servers.read_text()), "numStartups": 1}))
    assert "nothing to do" in done(at_home("install", "claude"))
    done(at_home("uninstall", "claude"))
    before = json.loads(SETTINGS)
    before["hooks"]["SessionEnd"] = [{"hooks": [{"type": "command", "command": "say bye"}]}]
    assert json.loads(settings.read_text()) == {**before, "model": "opus"}
    assert json.loads(servers.read_text()) == {"numStartups": 1}


def test_codex_tables_that_came_behind_ours_stay(at_home: Lamp, house: Path) -> None:
    path = place(house, "codex", MINE["codex"])
    done(at_home("install", "codex"))
    path.write_text(
        path.read_text() + '\n[hooks.state."x"]\ntrusted_hash = "y"\n[mcp_servers.lamplighter.tools.x]\na = 1\n'
    )
    done(at_home("uninstall", "codex"))
    assert tomllib.loads(path.read_text()) == {
        **tomllib.loads(MINE["codex"]),
        "hooks": {"state": {"x": {"trusted_hash": "y"}}},
    }
    assert "# mine" in path.read_text()


def test_codex_says_that_hooks_must_be_trusted(at_home: Lamp) -> None:
    ran = at_home("install", "codex")
    assert "/hooks" in ran.stdout + ran.stderr


def test_a_server_of_ours_that_leads_elsewhere_is_replaced_and_comes_back(at_home: Lamp, house: Path) -> None:
    for agent, text in (
        ("gemini", '{"mcpServers": {"lamplighter": {"command": "/old/lamp"}}}'),
        ("codex", '[mcp_servers.lamplighter]\ncommand = "/old/lamp"\n\n[tui]\nx = 1\n'),
    ):
        path = place(house, agent, text)
        done(at_home("install", agent))
        assert "/old/lamp" not in path.read_text()
        done(at_home("uninstall", agent))
        assert path.read_text() == text


def test_an_upgrade_replaces_the_hooks_and_the_first_state_comes_back(at_home: Lamp, house: Path) -> None:
    path = place(house, "gemini", MINE["gemini"])
    done(at_home("install", "gemini"))
    path.write_bytes(path.read_bytes().replace(b"hook gemini start", b"-x hook gemini start"))
    done(at_home("install", "gemini"))
    assert b"-x" not in path.read_bytes()
    assert path.read_bytes().count(b"hook gemini start") == 1
    done(at_home("uninstall", "gemini"))
    assert b"lamp" not in path.read_bytes()


@pytest.mark.parametrize("agent", SERVERS)
@pytest.mark.parametrize(
    "broken", [b'{"a": ', b"[x", b"\xff\xfe", b"[]", b'{"mcpServers": [], "servers": 1, "mcp": ""}']
)
def test_what_cannot_be_read_is_refused_and_left(at_home: Lamp, house: Path, agent: str, broken: bytes) -> None:
    path = place(house, agent, "")
    path.write_bytes(broken)
    if agent == "claude":  # the second of its files is broken: the first must stay too
        path.unlink()
        settings = house / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_bytes(broken.replace(b'"mcpServers"', b'"hooks"'))
    before = files(house)
    if agent == "codex" and broken == b"[]":
        broken = b"[a]\na"
        path.write_bytes(broken)
        before = files(house)
    ran = at_home("install", agent)
    assert ran.returncode == 2, ran.stdout
    assert "nothing was changed" in ran.stderr
    assert files(house) == before


def test_what_is_read_only_or_no_file_is_refused(at_home: Lamp, house: Path) -> None:
    path = place(house, "cursor", "{}")
    path.chmod(0o444)
    assert at_home("install", "cursor").returncode == 2
    assert path.read_text() == "{}"
    path.chmod(0o644)
    path.unlink()
    path.mkdir()
    assert at_home("install", "cursor").returncode == 2
    path.rmdir()
    os.mkfifo(path)
    assert at_home("install", "cursor").returncode == 2


def test_a_link_stays_a_link(at_home: Lamp, house: Path) -> None:
    dotfiles = house / "dotfiles.json"
    dotfiles.write_text(MINE["cursor"])
    path = house / SERVERS["cursor"]
    path.parent.mkdir()
    path.symlink_to(dotfiles)
    done(at_home("install", "cursor"))
    assert path.is_symlink()
    assert "lamplighter" in dotfiles.read_text()
    done(at_home("uninstall", "cursor"))
    assert path.is_symlink()
    assert dotfiles.read_text() == MINE["cursor"]


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("claude", {".mcp.json", ".claude/settings.json"}),
        ("codex", {".codex/config.toml", ".codex/hooks.json"}),
        ("gemini", {".gemini/settings.json"}),
        ("vscode", {".vscode/mcp.json"}),
    ],
)
def test_in_a_project(
    at_home: Lamp, house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, expected: set[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    done(at_home("install", agent, "--project"))
    assert set(files(project)) == expected
    assert files(house) == {}
    done(at_home("uninstall", agent, "--project"))
    assert list(project.iterdir()) == []


def test_many_at_once_are_as_one(at_home: Lamp, house: Path) -> None:
    path = place(house, "gemini", MINE["gemini"])
    command = [sys.executable, "-m", "lamplighter.frontends.cli.main", "install", "gemini"]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [each.wait(60) for each in running] == [0, 0, 0, 0]
    assert path.read_bytes().count(b"hook gemini start") == 1
    done(at_home("uninstall", "gemini"))
    assert path.read_bytes() == MINE["gemini"].encode()


def test_differences_are_shown_and_nothing_else_of_the_file(at_home: Lamp, house: Path) -> None:
    path = place(house, "claude", json.dumps({"token": "s3cret", **{f"x{n}": n for n in range(20)}}, indent=1))
    shown = done(at_home("install", "claude", "--json"))
    assert "s3cret" not in shown
    document = json.loads(shown)
    assert document["changes"][0]["path"] == str(path)
    assert any("lamplighter" in line for line in document["changes"][0]["diff"])
    kept = next(note for note in document["notes"] if note.startswith("as it was: ")).removeprefix("as it was: ")
    assert "s3cret" in Path(kept).read_text()
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600


def test_an_agent_may_look_and_not_install(lit: Engine, tmp_path: Path) -> None:
    """In a session, under a known agent; also when it has taken the marks out of its environment, and when no daemon runs."""
    agent = Hooked(lit, tmp_path)
    lamp = f"{lit.python} -m lamplighter.frontends.cli.main"
    for number, words in enumerate(("install claude", "uninstall claude", "install claude --dry-run")):
        out = agent.folder / f"said-{number}"
        agent.order(
            f"env -u LAMPLIGHTER_SESSION {lamp} {words} > {out}.part 2>&1; echo $? >> {out}.part; mv {out}.part {out}"
        )
        assert wait_until(out.exists)
        assert out.read_text().endswith("\n0\n" if "dry" in words else "\n6\n"), out.read_text()
    assert not (agent.folder / ".claude.json").exists()
    assert not (agent.folder / ".claude").exists()


def test_what_escaped_a_session_is_refused_by_the_daemon(tmp_path: Path) -> None:
    """Nothing above it and nothing in its environment says so; its cgroup or the keeper does."""
    with engine() as lit:
        out = tmp_path / "said"
        lamp = f"{lit.python} -m lamplighter.frontends.cli.main install claude"
        script = tmp_path / "escape"
        script.write_text(f"{lamp} > {out}.part 2>&1; echo $? >> {out}.part; mv {out}.part {out}\n")
        clean = f"env -i PATH={os.environ['PATH']} HOME={tmp_path} LAMPLIGHTER_HOME={lit.folder}"
        lit.start("sh", "-c", f"{clean} setsid sh {script} & exec {clean} sleep 60")
        assert wait_until(out.exists)
        assert out.read_text().endswith("\n6\n"), out.read_text()
        assert not (tmp_path / ".claude.json").exists()
