"""The wheel: what is in it and what is not, that it works where only its dependencies are, and how little a holder imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lamplighter import __version__
from tests.support.engine import Engine, leaving_nothing
from tests.support.places import ROOT

TOO_MUCH = {"typing", "dataclasses", "inspect", "asyncio"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it, that sees the dependencies of the one which runs the tests."""
    folder = tmp_path_factory.mktemp("environment")
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    install = [
        "uv",
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-cache",
        "--no-deps",
        "--python",
        f"{folder}/bin/python",
    ]
    _run([sys.executable, "-m", *install, str(wheel)])
    # Only the folder itself: the .pth files in it, an editable install's too, are not followed.
    _site(folder).joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def _site(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def _run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def lamp(installed: Path) -> Iterator[Callable[..., str]]:
    """The installed command, with a home of its own and nothing of this environment."""
    with leaving_nothing(Engine()) as made:
        env = {"PATH": os.environ["PATH"], "HOME": str(made.folder), "LAMPLIGHTER_HOME": str(made.folder)}

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [str(installed / "bin" / "lamp"), *arguments],
                check=False,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                env=env,
                cwd="/",
                timeout=200,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        yield run


def test_what_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "lamplighter/frontends/cli/commands.json" in names
    assert "lamplighter/holder/start.py" in names
    vendor = "lamplighter/frontends/web/static/vendor"
    assert {
        f"{vendor}/{name}" for name in ("preact.js", "xterm.js", "xterm.css", "LICENSES.txt", "vendor.json")
    } <= set(names)
    assert {name.split("/")[0] for name in names} == {"lamplighter", f"lamplighter-{__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc") or {"tests", "testing", "bench"} & set(name.split("/"))]
    assert f"lamplighter-{__version__}.dist-info/licenses/LICENSE" in names


def test_it_works_where_it_is_installed(installed: Path, lamp: Callable[..., str]) -> None:
    assert __version__ in lamp("--version")
    lamp("up")
    daemon = json.loads(lamp("status", "--json"))["pid"]
    assert os.fsencode(installed) in Path(f"/proc/{daemon}/cmdline").read_bytes()
    started = json.loads(lamp("start", "--json", "--", "sh", "-c", "setsid sleep 300 & exec cat"))
    ended = json.loads(lamp("kill", started["id"], "--force", "--grace", "0", "--json"))
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    lamp("down")


def test_it_does_not_use_this_tree(installed: Path) -> None:
    code = "import lamplighter.daemon, lamplighter.holder.keeper as keeper; print(lamplighter.__file__); print(keeper.__file__)"
    found = _run([f"{installed}/bin/python", "-I", "-c", code]).split()
    assert [Path(file).is_relative_to(installed) for file in found] == [True, True], found


def test_a_keeper_imports_little(installed: Path) -> None:
    """Every shim shares a keeper's memory: what it imports is paid for by all of them."""
    code = f"import sys; sys.path.insert(0, {str(_site(installed))!r}); import lamplighter.holder.keeper; print(*sys.modules)"
    modules = set(_run([f"{installed}/bin/python", "-I", "-S", "-c", code]).split())
    ours = {name for name in modules if name.split(".")[0] == "lamplighter"}
    foreign = {name for name in modules - ours if name.split(".")[0] not in sys.stdlib_module_names} - {"__main__"}
    assert not foreign
    assert not modules & TOO_MUCH
    assert not {name for name in ours if name not in ("lamplighter", "lamplighter.holder")} - {
        name for name in ours if name.startswith("lamplighter.holder.")
    }


def test_uvx_runs_it_from_the_wheel(wheel: Path) -> None:
    """As the registry's description has clients start it. What it depends on comes from the package registry."""
    made = Engine()
    with leaving_nothing(made):
        command = [sys.executable, "-m", "uv", "tool", "run", "--from", str(wheel), "lamplighter", "mcp"]
        asked = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
        ran = subprocess.run(
            command, input=asked, env=made.environment, capture_output=True, text=True, timeout=200, check=False
        )
        if "error sending request" in ran.stderr or "Failed to fetch" in ran.stderr:
            pytest.skip(f"the package registry cannot be reached: {ran.stderr[-300:]}")
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
