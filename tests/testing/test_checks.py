"""What ./test makes of cases that fail: a few are asked once more, and named; more than that, or again, is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A case fails as often as its number says.
CASES = """
import pathlib, pytest

@pytest.mark.parametrize("times", {times})
def test_case(times, request):
    with open(f"{{request.node.callspec.indices['times']}}.count", "a+") as file:
        file.write("x")
        file.flush()
        assert file.tell() > times
"""
# The stages themselves, with the tests of another folder, and without processes beside them.
CHECK = """
import pathlib, sys
sys.path.insert(0, {root!r})
from scripts import checks
checks.environment.ROOT = pathlib.Path.cwd()
checks.environment.tool = lambda name: str(pathlib.Path(sys.executable).with_name(name))
checks.TESTS = checks.Stage("pytest", ("pytest", "--cache-clear", f"--junit-xml={{checks.SAID}}"), live=True)
sys.exit(checks.check((checks.TESTS,)))
"""


def check(folder: Path, cases: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(cases)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-c", CHECK.format(root=str(ROOT))]
    light = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=light, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("times", "said", "status"),
    [
        ([0, 0], "All good.", 0),
        ([0, 1, 1], "UNSTEADY: test_some::test_case[1", 0),
        ([0, 9], "Failed: pytest", 1),
        ([1, 1, 1, 1], "Failed: pytest", 1),
    ],
    ids=["steady", "unsteady", "broken", "too many"],
)
def test_what_fails_once(tmp_path: Path, times: list[int], said: str, status: int) -> None:
    done = check(tmp_path, CASES.format(times=times))
    assert done.returncode == status, done.stdout
    assert said in done.stdout
    assert ("UNSTEADY" in done.stdout) == (said != "All good." and status == 0)


FIXTURE = """
import pathlib, pytest

@pytest.fixture(scope="module")
def checked():
    yield
    assert not pathlib.Path("left").exists()

def test_that_leaves_something(checked):
    pathlib.Path("left").touch()

def test_that_is_not_to_blame(checked):
    pass
"""
SKIPS = """
import pathlib, pytest

def test_case():
    if pathlib.Path("seen").exists():
        pytest.skip("not today")
    pathlib.Path("seen").touch()
    assert False
"""


@pytest.mark.parametrize("cases", [FIXTURE, SKIPS], ids=["a fixture complains", "skipped the second time"])
def test_what_does_not_count_as_passed(tmp_path: Path, cases: str) -> None:
    done = check(tmp_path, cases)
    assert done.returncode == 1, done.stdout
    assert "UNSTEADY" not in done.stdout


def test_tests_that_cannot_run_are_not_asked_again(tmp_path: Path) -> None:
    done = check(tmp_path, "import nothing_of_this_name")
    assert done.returncode == 1
    assert "Failed: pytest" in done.stdout
