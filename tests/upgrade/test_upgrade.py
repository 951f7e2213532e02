"""A release is installed over 0.1.0 at work: nothing ends or happens twice, and no import fails.

The archive is the whole of 0.1.0 as it was installed, without the page's files.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lamplighter
from tests.support.engine import Engine, leaving_nothing
from tests.support.mcp_client import McpClient
from tests.support.own_tmux import OwnTmux
from tests.support.person import Person
from tests.support.processes import alive

ARCHIVE = Path(__file__).with_name("0.1.0.tar.xz")
TODAY = Path(lamplighter.__file__).parent
TROUBLE = re.compile(r"^\S*(?:Error|Traceback|No module).*$", re.M)


class Installed(Engine):
    """An environment of its own, in which one release takes the place of another as pip does it."""

    def __init__(self, environment: Path) -> None:
        super().__init__()
        self.environment.pop("PYTHONPATH", None)
        self.python = f"{environment}/bin/python"
        (site,) = environment.glob("lib/python*/site-packages")
        self.package = site / "lamplighter"
        with tarfile.open(ARCHIVE) as tar:
            tar.extractall(site, filter="data")

    def upgrade(self) -> None:
        shutil.rmtree(self.package)
        shutil.copytree(TODAY, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def lamp(self, *arguments: str, **options: Any) -> dict[str, Any]:
        done = self.cli(*arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def words(self, *arguments: str) -> list[str]:
        return [self.python, "-m", "lamplighter.frontends.cli.main", *arguments]

    def running(self) -> dict[str, tuple[str, int]]:
        """Each session's state and process, by name."""
        rows = self.lamp("ls", "--json")["sessions"]
        return {row["name"]: (row["state"], row["pid"]) for row in rows}

    def trouble(self) -> list[str]:
        return [
            found for log in ("daemon.log", "keeper.log") for found in TROUBLE.findall((self.folder / log).read_text())
        ]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sees the dependencies of the one which runs the tests, and no release of ours."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=200)
    (site,) = folder.glob("lib/python*/site-packages")
    site.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def old(environment: Path) -> Iterator[Installed]:
    """0.1.0 at work, with its daemon up."""
    with leaving_nothing(Installed(environment)) as made:
        made.lamp("up", "--json")
        yield made
    shutil.rmtree(made.package)


@pytest.fixture
def bridge(old: Installed) -> Iterator[McpClient]:
    """An agent's bridge of 0.1.0."""
    command = old.words("mcp", "--tools", "core")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=old.environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = McpClient(process.stdin, process.stdout)
        client.initialize()
        yield client
        process.stdin.close()
        process.wait(200)
        client.close()


@pytest.fixture
def person(old: Installed) -> Iterator[Callable[..., Person]]:
    """Makes somebody who types `lamp` of 0.1.0 and these words."""
    people: list[Person] = []

    def make(*arguments: str) -> Person:
        people.append(Person(old.words(*arguments), old.environment))
        return people[-1]

    yield make
    for one in people:
        one.close()


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    made = OwnTmux()
    yield made
    made.close()


def test_a_release_is_installed_over_the_one_at_work(
    old: Installed, bridge: McpClient, person: Callable[..., Person], tmux: OwnTmux
) -> None:
    old.lamp("start", "--json", "--name", "typed", "--", "cat")
    old.lamp(
        "start",
        "--json",
        "--name",
        "quiet",
        "--headless",
        "--",
        "sh",
        "-c",
        "sleep 1000 & read line; echo got $line; sleep 1000",
    )
    old.lamp("start", "--json", "--name", "pane", "--tmux", "--", "cat", env={**old.environment, **tmux.environment})
    mine = bridge.call("start_session", command=["cat"], headless=True, name="mine")["id"]
    someone = person("attach", "typed")
    someone.type("before\r")
    someone.until("before\r\nbefore")
    before, daemon, keeper = old.running(), old.daemon(), old.keeper()
    shims = {name: old.shim(row["id"]) for name in before for row in [old.lamp("show", name, "--json")]}

    old.upgrade()

    assert old.running() == before
    assert not alive(*daemon)
    assert old.daemon() != daemon
    assert old.keeper() == keeper
    assert "it is upgraded in place" in (old.folder / "daemon.log").read_text()
    assert all(alive(*shim) for shim in shims.values())
    sent = bridge.call("send_input", session=mine, text="through the bridge of before")
    bridge.call("wait_session", session=mine, until="text=of before", since=sent["cursor"])
    assert bridge.call("read_output", session=mine, mode="output")["text"].count("through") == 1
    someone.type("after\r")
    someone.until("after\r\nafter")
    old.lamp("send", "pane", "in tmux", "--json")
    tmux.until(old.lamp("show", "pane", "--json")["tmux"]["session"], "in tmux\nin tmux")
    old.lamp("send", "quiet", "a line", "--json")
    old.lamp("wait", "quiet", "--for", "text=got a line", "--json")
    for name in before:
        ended = old.lamp("end", name, "--grace", "1s", "--json")
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", []), name
    assert old.trouble() == []


def test_a_hook_meets_the_daemon_of_before(old: Installed) -> None:
    daemon = old.daemon()
    old.upgrade()
    said = json.dumps({"session_id": "0b7c", "hook_event_name": "Stop", "cwd": "/"})
    done = old.cli("hook", "claude", "stop", input=said)
    assert (done.returncode, done.stderr) == (0, "")
    assert not alive(*daemon)
    assert old.trouble() == []


def test_a_unit_goes_on(old: Installed) -> None:
    """What systemd has started is `lamp up --foreground`, of 0.1.0."""
    old.lamp("down", "--json")
    with subprocess.Popen(old.words("up", "--foreground"), env=old.environment, stdin=subprocess.DEVNULL) as unit:
        old.lamp("start", "--json", "--name", "kept", "--", "cat")
        daemon, before = old.daemon(), old.running()
        old.upgrade()
        assert old.running() == before
        assert old.daemon() != daemon
        assert unit.poll() is None
        old.lamp("kill", "kept", "--force", "--json")
        unit.terminate()
        assert unit.wait(200) == 0
    assert old.trouble() == []


def test_the_same_release_replaces_nobody(environment: Path) -> None:
    with leaving_nothing(Installed(environment)) as made:
        made.upgrade()
        made.lamp("up", "--json")
        daemon = made.daemon()
        made.lamp("ls", "--json")
        assert made.daemon() == daemon
    shutil.rmtree(made.package)
