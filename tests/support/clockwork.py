"""A clock that a test moves by hand, for a daemon in a process of its own: real time, and what a file in its home adds to it."""

from __future__ import annotations

import time
from pathlib import Path

FOLDER = str(Path(__file__).with_name("moved"))
"""On a daemon's PYTHONPATH this makes it take its time from the file."""


class Clockwork:
    """The test's end."""

    def __init__(self, home: Path) -> None:
        self._file = home / "clock"
        self._added = [0.0, 0.0, 0.0]

    def now(self) -> float:
        """The wall clock, as the daemon sees it."""
        return time.time() + self._added[0]

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._move(seconds, seconds, seconds)

    def jump(self, seconds: float) -> None:
        """The wall clock alone moves, as when a person or NTP sets it."""
        self._move(seconds, 0.0, 0.0)

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: the wall clock and the time since boot go on."""
        self._move(seconds, 0.0, seconds)

    def _move(self, *seconds: float) -> None:
        self._added = [before + more for before, more in zip(self._added, seconds, strict=True)]
        fresh = self._file.with_suffix(".new")
        fresh.write_text(" ".join(map(str, self._added)))
        fresh.rename(self._file)
