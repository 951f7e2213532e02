"""Whether the daemon at work runs what is installed: by what it wrote down, else by its interpreter and its start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lamplighter.holder import places, proc, release
from tests.support.processes import wait_until

PLACE, DEVICE, WRITTEN, SUM = release.installed()


@pytest.mark.parametrize(
    ("code", "outdated"),
    [
        ([PLACE, DEVICE, WRITTEN, SUM], False),
        ([PLACE, DEVICE, int(WRITTEN) - 1, SUM], True),
        ([PLACE, DEVICE, WRITTEN, int(SUM) + 1], True),
        ([PLACE, int(DEVICE) + 1, 1, 1], False),
        (["/somewhere/else/__init__.py", DEVICE, 1, 1], False),
        ([], False),
        ("garbage", False),
    ],
)
def test_a_daemon_is_known_by_what_it_began_with(tmp_path: Path, code: Any, outdated: bool) -> None:
    places.record(str(tmp_path), str(tmp_path), "daemon", os.getpid(), code=code)
    assert release.is_outdated(str(tmp_path), os.getpid()) is outdated


def test_one_that_wrote_nothing_down_is_known_by_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "__init__.py"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not release.is_outdated(str(tmp_path), process.pid), "it began after the files were written"
        began = proc.read_stat(process.pid)
        assert began is not None
        assert wait_until(lambda: copy.write_text("") == 0 and not proc.started_since(began, _changed(copy)))
        monkeypatch.setattr(release, "_FILE", str(copy))
        assert release.is_outdated(str(tmp_path), process.pid)
        assert not release.is_outdated(str(tmp_path), 1), "it is of another interpreter"
        process.communicate(b"\n", timeout=200)
    assert not release.is_outdated(str(tmp_path), process.pid), "it is gone"


def _changed(path: Path) -> float:
    """When, by the clock that counts from boot."""
    return path.stat().st_ctime - (time.time() - time.clock_gettime(time.CLOCK_BOOTTIME))


def test_the_record_of_another_process_says_nothing(tmp_path: Path) -> None:
    places.record(str(tmp_path), str(tmp_path), "daemon", 1, code=[PLACE, DEVICE, WRITTEN, int(SUM) + 1])
    assert not release.is_outdated(str(tmp_path), os.getpid())
