"""Endings, hand-offs and succession when much goes wrong at once: disks that hang, clocks that jump, races, words of any kind."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamplighter.testing.engine import Engine

_FORCE_DETACH = 1 | 2


@contextmanager
def hanging(folder: Path) -> Generator[None]:
    """A file system over the folder whose server never answers, as that of a host which is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"no file system can be made to hang here: {error}")
    try:
        options = f"fd={server},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if libc.mount(b"hang", bytes(folder), b"fuse", 0, options.encode()):
            pytest.skip(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.umount2(bytes(folder), _FORCE_DETACH)
    finally:
        os.close(server)


def test_sessions_whose_folder_hangs_end_all_the_same_and_keep_nobody_waiting(lit: Engine, tmp_path: Path) -> None:
    """More of them than the daemon has threads to share: each would keep one for good."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexec sleep 300\n")
    program.chmod(0o755)
    folder = tmp_path / "away"
    places = [folder / str(number) for number in range(12)]
    for place in places:
        place.mkdir(parents=True)
    sessions = [lit.start(str(program), cwd=str(place), headless=True)["id"] for place in places]
    other = lit.start("sleep", "300", headless=True)["id"]
    lit.call("get_status")  # there is a connection to be had without a fork

    def end(numbered: tuple[int, str]) -> dict[str, Any]:
        number, session = numbered
        words = {"checkpoint": "half of src/a.py is done"} if number % 2 else {}
        return lit.call("end_session", session=session, grace="0s", **words)

    with hanging(folder), ThreadPoolExecutor(12) as pool:
        ended = list(pool.map(end, enumerate(sessions)))
        assert lit.call("end_session", session=other, checkpoint="elsewhere", grace="0s")["state"] == "ended"
    assert {one["state"] for one in ended} == {"ended"}
    assert [one["handoff"]["source"] for one in ended] == ["inferred", "end_session"] * 6
