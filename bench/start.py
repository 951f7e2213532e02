"""Starting: how long until the command is executed, and what it costs, as the number of sessions grows.

tmux answers when it has forked; Lamplighter when the kernel has taken the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bench.lamps import lamps
from bench.peers import control, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target

_FLAT = 1.25
_BLOCKS = 5  # the CPU of a hundred starts is read five times, for its spread
_PLAIN, _WIRED = "tmux, a process each", "tmux, control connection"


@dataclass
class Side:
    """One that starts sessions: what it took each time, and the CPU of all its processes now."""

    start: Callable[[], object]
    cpu: Callable[[], float]
    times: list[float] = field(default_factory=list[float])

    def timed_start(self) -> None:
        began = time.perf_counter()
        self.start()
        self.times.append((time.perf_counter() - began) * 1000)


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours, tmux() as plain, tmux() as other, control(other) as wired:
        sides = [Side(ours.start, ours.cpu), Side(plain.start, plain.cpu), Side(wired.start, wired.cpu)]
        early = _block_cpu(scale.first, sides)
        first = _taken(sides)
        _start_each(scale.crowd - 2 * scale.first, sides)
        late = _block_cpu(scale.first, sides)
        yield from _time_rows(f"start, 1–{scale.first:,}", first, Target(1.5, of_ratio=True))
        yield from _time_rows(f"start, {scale.first + 1:,}–{scale.crowd:,}", _taken(sides), Target(1.0, of_ratio=True))
        yield from _cpu_rows(scale, early, late)
    with lamps() as ours, tmux() as plain, tmux() as other, control(other) as wired:
        sides = [Side(ours.start, ours.cpu), Side(plain.start, plain.cpu), Side(wired.start, wired.cpu)]
        _start_each(scale.lonely, sides, pause=scale.lonely_pause)
        yield from _time_rows(f"start, {scale.lonely_pause * 1000:g} ms after anything else", _taken(sides), None)


def _start_each(number: int, sides: list[Side], pause: float = 0.0) -> None:
    """One start of each side in turn, in an order that rotates, so that all of them see the same machine."""
    for turn in range(number):
        for place in range(len(sides)):
            time.sleep(pause)
            sides[(turn + place) % len(sides)].timed_start()


def _taken(sides: list[Side]) -> list[Sample]:
    """The times since this was asked last."""
    found = [Sample(side.times, "ms") for side in sides]
    for side in sides:
        side.times = []
    return found


def _block_cpu(number: int, sides: list[Side]) -> list[Sample]:
    """CPU a start of each side, over as many starts, block by block."""
    size = max(1, number // _BLOCKS)
    found: list[list[float]] = [[] for _ in sides]
    for _ in range(number // size):
        before = [side.cpu() for side in sides]
        _start_each(size, sides)
        for values, side, used in zip(found, sides, before, strict=True):
            values.append((side.cpu() - used) * 1000 / size)
    return [Sample(values, "ms") for values in found]


def _time_rows(name: str, found: list[Sample], target: Target | None) -> Iterator[Row]:
    ours, plain, wired = found
    yield Row(name, ours, plain, _PLAIN, target)
    yield Row(name, ours, wired, _WIRED)


def _cpu_rows(scale: Scale, early: list[Sample], late: list[Sample]) -> Iterator[Row]:
    begin = f"CPU a start, 1–{scale.first:,}"
    end = f"CPU a start, {scale.crowd - scale.first + 1:,}–{scale.crowd:,}"
    yield Row(begin, early[0], early[1], _PLAIN)
    yield Row(end, late[0], late[1], _PLAIN)
    yield Row(end, late[0], early[0], f"itself, 1–{scale.first:,}", Target(_FLAT, of_ratio=True))
