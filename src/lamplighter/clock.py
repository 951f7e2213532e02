"""Time, real or set by hand. Knows nothing of what it is used for."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where everything above the holders takes its time from."""

    def now(self) -> float:
        """Unix seconds; can jump."""
        ...

    def monotonic(self) -> float:
        """Seconds for measuring spans; never jumps, does not count a suspended machine's sleep."""
        ...


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock for tests: it moves when told to."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """The wall clock alone moves, as when a person or NTP sets it."""
        self._now += seconds
