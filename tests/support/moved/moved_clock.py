"""The daemon's end of a clock that a test moves: real time, and what the file adds to it."""

from __future__ import annotations

import os
import time

from lamplighter.clock import RealClock


class MovedClock(RealClock):
    """Read anew each time: the test replaces the file whenever it likes."""

    def __init__(self) -> None:
        self._path = f"{os.environ['LAMPLIGHTER_HOME']}/clock"

    def now(self) -> float:
        return time.time() + self._added()[0]

    def monotonic(self) -> float:
        return time.monotonic() + self._added()[1]

    def since_boot(self) -> float:
        return super().since_boot() + self._added()[2]

    def _added(self) -> tuple[float, float, float]:
        try:
            with open(self._path) as file:
                wall, awake, boot = map(float, file.read().split())
        except FileNotFoundError:
            return 0.0, 0.0, 0.0
        return wall, awake, boot
