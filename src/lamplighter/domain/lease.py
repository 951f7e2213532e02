"""A lease: how long a session without a process of ours counts as alive after it last spoke. Knows no clock.

Within one boot the time that the machine was awake counts, which neither jumps nor counts its sleep; across a reboot nothing but
the wall clock is left to go by.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Moment:
    """A time on both clocks: Unix seconds, and seconds awake on a boot."""

    wall: float
    awake: float
    boot: str


@dataclass(frozen=True)
class Lease:
    """`seconds` from when it last spoke."""

    seconds: float
    spoke: Moment

    def silent_for(self, now: Moment) -> float:
        if now.boot == self.spoke.boot:
            return max(0.0, now.awake - self.spoke.awake)
        return max(0.0, now.wall - self.spoke.wall)

    def left(self, now: Moment) -> float:
        return max(0.0, self.seconds - self.silent_for(now))

    def is_over(self, now: Moment) -> bool:
        return self.silent_for(now) >= self.seconds

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_document(document: dict[str, Any]) -> Lease:
        return Lease(float(document["seconds"]), Moment(**document["spoke"]))
