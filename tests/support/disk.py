"""An engine on a small disk of its own, that a test can fill. For tests only."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from tests.support.engine import Engine

_BLOCK = 4096


@contextmanager
def small_disk(**environment: str) -> Generator[Engine]:
    """An engine on a disk of eight megabytes. Skips the test where nothing can be mounted."""
    made = Engine(**environment)
    shutil.rmtree(made.folder)
    made.folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "lamplighter-test", str(made.folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        made.close()
        pytest.skip("only root can mount a small disk")
    try:
        made.home.make()
        yield made
    finally:
        make_room(made)
        left = made.close()
        subprocess.run(["umount", "-l", str(made.folder)], check=True)
        shutil.rmtree(made.folder)
        assert not left, f"left behind: {left}"


def fill(lit: Engine) -> None:
    """Until nothing more can be written."""
    with suppress(OSError), open(lit.folder / "ballast", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * _BLOCK)


def make_room(lit: Engine) -> None:
    (lit.folder / "ballast").unlink(missing_ok=True)
