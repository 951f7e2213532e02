"""Time. Knows nothing of what it is used for. For tests there is one that is moved by hand: tests/support/clockwork.py."""

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

    def since_boot(self) -> float:
        """Seconds since the machine was started, its sleep counted; never jumps. Processes' start times are on it."""
        ...


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def since_boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
