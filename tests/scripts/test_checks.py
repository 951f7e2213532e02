"""What ./test makes of its stages: each runs once, all of them do, and one that fails is named at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

# The stages themselves, with the tests of another folder, and without processes beside them.
CHECK = """
import pathlib, sys
sys.path.insert(0, {root!r})
from scripts import checks
checks.environment.ROOT = pathlib.Path.cwd()
checks.environment.tool = lambda name: str(pathlib.Path(sys.executable).with_name(name))
tests = checks.Stage("pytest", ("pytest",), live=True)
sys.exit(checks.check((tests, checks.Stage("version", ("pytest", "--version")))))
"""
FAILS_ONCE = """
import pathlib

def test_case():
    seen = pathlib.Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


def check(folder: Path, cases: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(cases)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-c", CHECK.format(root=str(ROOT))]
    light = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=light, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("cases", "said", "status"),
    [
        ("def test_case(): pass", "All good.", 0),
        ("def test_case(): assert False", "Failed: pytest", 1),
        (FAILS_ONCE, "Failed: pytest", 1),
        ("import nothing_of_this_name", "Failed: pytest", 1),
    ],
    ids=["good", "broken", "fails once", "cannot run"],
)
def test_what_comes_of_the_stages(tmp_path: Path, cases: str, said: str, status: int) -> None:
    done = check(tmp_path, cases)
    assert done.returncode == status, done.stdout
    assert done.stdout.rstrip().endswith(said)
    assert "version        ok" in done.stdout, "a later stage runs all the same"


BESIDE = """
import pathlib, sys
sys.path.insert(0, {root!r})
from scripts import checks
checks.environment.ROOT = pathlib.Path.cwd()
checks.environment.tool = lambda name: sys.executable
waits = "import pathlib, sys, time\\nuntil = time.monotonic() + 120\\n"
waits += "while not pathlib.Path('met').exists() and time.monotonic() < until: time.sleep(0.01)\\n"
waits += "print('said'); sys.exit({status})"
meets = "import pathlib; pathlib.Path('met').touch()"
sys.exit(checks.check((checks.Stage("types", ("-", "-c", waits), beside=True), checks.Stage("meets", ("-", "-c", meets)))))
"""


@pytest.mark.parametrize("status", [0, 3])
def test_a_stage_beside_the_others_is_shown_after_them(tmp_path: Path, status: int) -> None:
    script = BESIDE.format(root=str(ROOT), status=status)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    shown = [line.split()[:2] for line in done.stdout.splitlines() if line]
    types, end = (["types", "FAILED"], ["Failed:", "types"]) if status else (["types", "ok"], ["All", "good."])
    assert shown == [["meets", "ok"], *([["said"]] if status else []), types, end], done.stdout + done.stderr
    assert done.returncode == (1 if status else 0)


def test_a_stage_beside_the_others_ends_when_they_are_broken_off(tmp_path: Path) -> None:
    broken = "checks._run = lambda stage: 1 / 0\nsys.exit(checks.check"
    script = BESIDE.format(root=str(ROOT), status=0).replace("sys.exit(checks.check", broken)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ZeroDivisionError" in done.stderr, "and it has come back, without what the other waits for"


def test_the_pythons_that_were_not_tried_are_named() -> None:
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from scripts import checks; print(checks.untried())"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    own = f"3.{sys.version_info.minor}"
    untried = said.partition("Python ")[2].partition(". ")[0].split(", ")
    assert sorted([own, *untried]) == ["3.11", "3.12", "3.13", "3.14"]
    assert "make test-python" in said
