"""`lamp` is found by its name after ./run, and nobody else's `lamp` is touched."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from scripts.on_path import put
from tests.support.places import ROOT


@pytest.fixture
def program(tmp_path: Path) -> Path:
    made = tmp_path / "tree" / "bin" / "lamp"
    made.parent.mkdir(parents=True)
    made.write_text("#!/bin/sh\necho this one\n")
    made.chmod(0o755)
    return made


def said(home: Path, word: str, path: str, first: str = ":") -> str:
    script = f"{first}\n{word}"
    return subprocess.run(
        ["/bin/sh", "-c", script], env={"HOME": str(home), "PATH": path}, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("folder", [".local/bin", "bin"])
def test_it_is_linked_into_a_folder_of_the_path(tmp_path: Path, program: Path, folder: str) -> None:
    path = f"{tmp_path}/{folder}:/nowhere"
    for _ in range(2):
        assert put(program, {"HOME": str(tmp_path), "PATH": path}) == ("lamp", "")
    assert said(tmp_path, "lamp", path) == "this one\n"


def test_without_such_a_folder_it_says_what_to_type_first(tmp_path: Path, program: Path) -> None:
    place = put(program, {"HOME": str(tmp_path), "PATH": "/nowhere"})
    assert said(tmp_path, place.word, "/nowhere", place.first) == "this one\n"


def test_another_lamp_is_left_alone(tmp_path: Path, program: Path) -> None:
    other = tmp_path / ".local/bin/lamp"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    path = str(other.parent)
    place = put(program, {"HOME": str(tmp_path), "PATH": path})
    assert said(tmp_path, place.word, path) == "this one\n"
    assert said(tmp_path, "lamp", path) == "another\n"
    before = tmp_path / "before"
    before.mkdir()
    os.symlink(other, before / "lamp")
    other.unlink()
    other.symlink_to(program)
    assert put(program, {"HOME": str(tmp_path), "PATH": path}).word == "lamp"


def test_the_readme_installs_before_it_shows_a_command() -> None:
    readme = (ROOT / "README.md").read_text()
    first = re.search(r"^\$? ?lamp ", readme, re.M)
    assert first is not None
    assert readme.index("./run") < first.start()
