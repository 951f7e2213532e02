"""The table: samples with their spread, what they are compared with, and whether the target is met.

Knows numbers and text; knows nothing of what is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

HEADINGS = ("measurement", "Lamplighter", "peer", "ratio", "target", "met?")


@dataclass(frozen=True)
class Sample:
    """Values in one unit. Shown as the median, with the quartiles, or with the extremes when there are few."""

    values: Sequence[float]
    unit: str

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float] | None:
        if len(self.values) < 2:
            return None
        if len(self.values) < 8:
            return min(self.values), max(self.values)
        low, _, high = statistics.quantiles(self.values, n=4)
        return low, high

    def __str__(self) -> str:
        middle = f"{_short(self.median)} {self.unit}"
        return middle if self.spread is None else f"{middle} ({_short(self.spread[0])}–{_short(self.spread[1])})"


@dataclass(frozen=True)
class Target:
    """A bound on the median, or on its ratio to the peer's."""

    bound: float
    of_ratio: bool = False
    at_least: bool = False

    def met(self, ours: Sample, ratio: float | None) -> bool | None:
        value = ratio if self.of_ratio else ours.median
        if value is None:
            return None
        return value >= self.bound if self.at_least else value <= self.bound

    def text(self, unit: str) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g} {'×' if self.of_ratio else unit}"


@dataclass(frozen=True)
class Row:
    """One line. `peer_name` says what the peer is and how it was asked."""

    name: str
    ours: Sample
    peer: Sample | None = None
    peer_name: str = ""
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        if self.peer is None or not self.peer.median:
            return None
        return self.ours.median / self.peer.median

    @property
    def met(self) -> bool | None:
        return self.target.met(self.ours, self.ratio) if self.target else None

    def cells(self) -> tuple[str, ...]:
        peer = f"{self.peer} {self.peer_name}".strip() if self.peer else "–"
        ratio = "–" if self.ratio is None else f"{self.ratio:.2f} ×"
        target = self.target.text(self.ours.unit) if self.target else "–"
        met = {True: "yes", False: "NO", None: "–"}[self.met]
        return self.name, str(self.ours), peer, ratio, target, met


@dataclass
class Table:
    """Rows as they come, and what could not be measured."""

    rows: list[Row] = field(default_factory=list[Row])
    failures: list[str] = field(default_factory=list[str])

    def plain(self) -> str:
        """For a terminal: columns padded to their widest cell."""
        lines = [HEADINGS, *(row.cells() for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
        lines.insert(1, tuple("─" * width for width in widths))
        shown = [
            " │ ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([*shown, *self.failures])

    def markdown(self) -> str:
        lines = [HEADINGS, tuple("---" for _ in HEADINGS), *(row.cells() for row in self.rows)]
        shown = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join([*shown, *(f"\n{failure}" for failure in self.failures)])


def _short(value: float) -> str:
    """Three digits that mean something, and no exponent."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"
