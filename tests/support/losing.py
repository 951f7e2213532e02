"""Losing the store on purpose: the daemon taken down in one way or another, and its files deleted or damaged. For tests only."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.support.engine import Engine
from tests.support.processes import alive, wait_until

SUFFIXES = ("", "-wal", "-shm")


def store(lit: Engine, suffix: str = "") -> Path:
    return Path(f"{lit.home.database}{suffix}")


def stop(lit: Engine) -> None:
    """Cleanly: the daemon writes what it has into the store, and stays away until somebody asks."""
    daemon = lit.daemon()
    lit.call("stop_daemon")
    assert wait_until(lambda: not alive(*daemon))


def kill(lit: Engine, *, roles: tuple[str, ...] = ("daemon", "keeper")) -> None:
    """As a machine does that runs out of memory: both are gone at once, none brings the other back, and the log of writes that
    the daemon had open lies there."""
    processes = [_recorded(lit, role) for role in roles]
    for process in processes:
        os.kill(process[0], signal.SIGSTOP)
    for process in processes:
        lit.kill(process)


def delete(lit: Engine) -> None:
    for suffix in SUFFIXES:
        store(lit, suffix).unlink(missing_ok=True)


def garble(lit: Engine) -> None:
    """It is no database any more."""
    store(lit).write_bytes(os.urandom(8192))


def snapshots(lit: Engine) -> list[Path]:
    return sorted((lit.folder / "snapshots").glob("*.db"))


def restart(lit: Engine) -> None:
    """A daemon makes a snapshot soon after its start."""
    before = {path.name for path in snapshots(lit)}
    stop(lit)
    lit.call("get_status")
    assert wait_until(lambda: {path.name for path in snapshots(lit)} - before)


def _recorded(lit: Engine, role: str) -> tuple[int, int]:
    found = json.loads((lit.folder / f"{role}.json").read_text())
    return found["pid"], found["start"]
