"""`lamp install` and `lamp uninstall`: the user's files are changed as shown, once, and come back as they were."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.usermanager import UserManager, why_none

UNIT = "systemd/user/lamplighter.service"


@pytest.fixture
def at_home(lit: Engine, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command with a home folder of its own."""
    lit.environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return lit.cli


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_an_unknown_target_names_those_there_are(at_home: Any) -> None:
    done = at_home("install", "nonsense")
    assert done.returncode == 2
    assert "service, completion" in done.stderr


def test_a_dry_run_shows_all_and_writes_nothing(at_home: Any, tmp_path: Path) -> None:
    done = at_home("install", "service", "--dry-run")
    assert done.returncode == 0
    for word in ("would write", "KillMode=process", "Delegate=yes", "WantedBy=default.target", "up --foreground"):
        assert word in done.stdout
    assert "daemon-reload" in done.stdout + done.stderr
    assert files(tmp_path) == {}


def test_the_unit_keeps_the_home_and_the_path_of_lamp(at_home: Any, lit: Engine, tmp_path: Path) -> None:
    at_home("install", "service", "--no-start")
    text = (tmp_path / "config" / UNIT).read_text()
    assert f"Environment=LAMPLIGHTER_HOME={lit.folder}\n" in text
    words = next(line for line in text.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart=").split()
    assert os.path.isabs(words[0])
    assert os.access(words[0], os.X_OK)
    assert words[-2:] == ["up", "--foreground"]


def test_the_second_time_there_is_nothing_to_do(at_home: Any, tmp_path: Path) -> None:
    assert document(at_home("install", "service", "--no-start", "--json"))["changes"]
    before = files(tmp_path)
    assert document(at_home("install", "service", "--no-start", "--json"))["changes"] == []
    assert files(tmp_path) == before


def test_uninstall_leaves_what_was_before(at_home: Any, tmp_path: Path) -> None:
    unit = tmp_path / "config" / UNIT
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/mine\n")
    before = files(tmp_path)
    at_home("install", "service", "--no-start")
    assert "up --foreground" in unit.read_text()
    at_home("uninstall", "service", "--no-start")
    assert files(tmp_path) == before
    assert "not ours" in at_home("uninstall", "service", "--no-start").stderr
    assert files(tmp_path) == before


def test_a_unit_edited_by_hand_is_kept(at_home: Any, tmp_path: Path) -> None:
    unit = tmp_path / "config" / UNIT
    for number in (1, 2):
        at_home("install", "service", "--no-start")
        unit.write_text(unit.read_text().replace("RestartSec=5s", f"RestartSec={number}min"))
        changes = document(at_home("uninstall", "service", "--no-start", "--json"))["changes"]
        assert [change["act"] for change in changes] == ["move"]
        assert f"RestartSec={number}min" in Path(changes[0]["to"]).read_text()
        assert not unit.exists()
    assert len(files(unit.parent)) == 2


def test_a_unit_of_an_older_home_is_replaced_with_the_change_shown(at_home: Any, lit: Engine, tmp_path: Path) -> None:
    at_home("install", "service", "--no-start")
    lit.environment["LAMPLIGHTER_HOME"] = str(tmp_path / "other home 100%")
    shown = at_home("install", "service", "--no-start").stdout
    lit.environment["LAMPLIGHTER_HOME"] = str(lit.folder)
    assert f"-Environment=LAMPLIGHTER_HOME={lit.folder}" in shown
    assert f'+Environment="LAMPLIGHTER_HOME={tmp_path}/other home 100%%"' in shown
    assert list(files(tmp_path)) == [f"config/{UNIT}"]


def test_a_link_that_was_there_comes_back_as_a_link(at_home: Any, tmp_path: Path) -> None:
    unit, elsewhere = tmp_path / "config" / UNIT, tmp_path / "dotfiles.service"
    unit.parent.mkdir(parents=True)
    elsewhere.write_text("[Service]\n")
    unit.symlink_to(elsewhere)
    at_home("install", "service", "--no-start")
    assert elsewhere.read_text() == "[Service]\n"
    at_home("uninstall", "service", "--no-start")
    assert unit.is_symlink()
    assert unit.read_text() == "[Service]\n"


def test_many_at_once_lose_nothing_of_the_users(at_home: Any, lit: Engine, tmp_path: Path) -> None:
    unit = tmp_path / "config" / UNIT
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/mine\n")
    command = [sys.executable, "-m", "lamplighter.frontends.cli.main", "install", "service", "--no-start"]
    quiet = subprocess.DEVNULL
    running = [subprocess.Popen(command, env=lit.environment, stdout=quiet, stderr=quiet) for _ in range(6)]
    assert 0 in [process.wait(60) for process in running]
    assert at_home("install", "service", "--no-start").returncode == 0
    at_home("uninstall", "service", "--no-start")
    assert "[Service]\nExecStart=/bin/mine\n" in files(tmp_path).values()


def test_without_systemd_the_error_says_what_else_there_is(at_home: Any, lit: Engine, tmp_path: Path) -> None:
    lit.environment["PATH"] = str(tmp_path)  # no systemctl there
    done = at_home("install", "service", "--json")
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "UNSUPPORTED"
    assert "@reboot" in error["hint"]
    assert files(tmp_path) == {}
    assert at_home("install", "service", "--dry-run").returncode == 0


@pytest.mark.parametrize("home", ["plain", 'with blanks and 100% of "quotes" \\ $HOME'])
def test_systemd_itself_finds_nothing_wrong(at_home: Any, lit: Engine, tmp_path: Path, home: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    lit.environment["LAMPLIGHTER_HOME"] = str(tmp_path / home)
    done = at_home("install", "service", "--no-start")
    lit.environment["LAMPLIGHTER_HOME"] = str(lit.folder)
    assert done.returncode == 0, done.stderr
    unit = tmp_path / "config" / UNIT
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    said = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={**lit.environment, "XDG_RUNTIME_DIR": str(runtime)}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert (said.returncode, [line for line in said.stderr.splitlines() if "lamplighter" in line]) == (0, []), (
        said.stderr
    )


@pytest.fixture
def manager(lit: Engine, tmp_path: Path) -> Iterator[UserManager]:
    reason = why_none()
    if reason:
        pytest.skip(reason)
    lit.environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with UserManager(lit.environment) as made:
        lit.environment |= made.environment
        lit.prefix = made.prefix
        yield made
        lit.cli("down", "--all", "--yes", "--grace", "0")


def test_under_a_real_manager_systemctl_tells_the_truth(lit: Engine, manager: UserManager) -> None:
    done = lit.cli("install", "service")
    assert done.returncode == 0, done.stdout + done.stderr
    assert manager.state() == "active"
    assert document(lit.cli("install", "service", "--json"))["commands"] == []
    daemon, keeper = lit.daemon(), lit.keeper()
    started = json.loads(lit.cli("start", "--json", "--name", "one", "--", "sleep", "300").stdout)

    lit.kill(daemon)  # the keeper starts another: nothing for systemd to see
    assert lit.cli("ls").returncode == 0
    assert manager.state() == "active"

    manager.systemctl("restart", "lamplighter")
    assert manager.state() == "active"
    assert lit.keeper() == keeper
    assert lit.daemon() != daemon

    manager.systemctl("stop", "lamplighter")
    assert manager.state() == "inactive"
    assert lit.cli("status").returncode == 3
    manager.systemctl("start", "lamplighter")
    assert json.loads(lit.cli("show", "one", "--json").stdout)["pid"] == started["pid"]

    lit.cli("down")  # told by another way: systemd hears of it
    assert manager.becomes("inactive")
    assert lit.cli("uninstall", "service").returncode == 0
    assert manager.state() == "inactive"
    assert json.loads(lit.cli("show", "one", "--json").stdout)["state"] == "running"


@pytest.mark.parametrize("renewed", [False, True])
def test_a_daemon_and_keeper_that_are_killed_come_back(lit: Engine, manager: UserManager, renewed: bool) -> None:
    assert lit.cli("install", "service").returncode == 0
    first, keeper = lit.daemon(), lit.keeper()
    lit.kill(keeper)
    if renewed:  # the daemon has found a keeper again, which has never been asked for a daemon
        assert wait_until(lambda: lit.keeper() != keeper and lit.cli("status").returncode == 0)
    lit.kill(lit.daemon())
    assert manager.becomes("active", lambda: lit.daemon() != first and lit.cli("status").returncode == 0)
    watcher = int(manager.systemctl("show", "--property=MainPID", "--value", "lamplighter"))
    os.kill(watcher, 9)
    assert manager.becomes("active", lambda: manager.main() not in (0, watcher))
    assert lit.cli("uninstall", "service").returncode == 0
    assert lit.cli("status").returncode == 3


def test_in_the_foreground_it_goes_with_a_signal_and_with_down(lit: Engine) -> None:
    for way in ("signal", "down"):
        command = [sys.executable, "-m", "lamplighter.frontends.cli.main", "up", "--foreground"]
        with subprocess.Popen(command, env=lit.environment, stderr=subprocess.PIPE, text=True) as process:
            assert lit.call("get_status")["pid"]
            if way == "signal":
                process.terminate()
            else:
                lit.cli("down")
            assert process.wait(200) == 0
            assert process.stderr is not None
            assert "sessions go on" in process.stderr.read()
        assert lit.cli("status").returncode == 3
