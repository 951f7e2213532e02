"""Starting: how long until the command is executed, and what it costs, as the number of sessions grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from bench.lamps import lamps
from bench.peers import control, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target

_FLAT = 1.25


def measure(scale: Scale) -> Iterator[Row]:
    """One start of each side in turn, in an order that rotates, so that all of them see the same machine."""
    with lamps() as ours, tmux() as plain, tmux() as other, control(other) as wired:
        sides: list[tuple[str, Callable[[], object], Callable[[], float]]] = [
            ("ours", ours.start, ours.cpu),
            ("plain", plain.start, plain.cpu),
            ("wired", wired.start, wired.cpu),
        ]
        times: dict[str, list[float]] = {name: [] for name, _, _ in sides}
        marks: dict[str, list[float]] = {name: [] for name, _, _ in sides}
        number = 0
        for mark in (0, scale.first, scale.crowd - scale.first, scale.crowd):
            while number < mark:
                for name, start, _ in sides[number % 3 :] + sides[: number % 3]:
                    times[name].append(_timed(start))
                number += 1
            for name, _, cpu in sides:
                marks[name].append(cpu())
        yield from _rows(scale, times, marks)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _rows(scale: Scale, times: dict[str, list[float]], marks: dict[str, list[float]]) -> Iterator[Row]:
    first = {name: Sample(values[: scale.first], "ms") for name, values in times.items()}
    way = {name: Sample(values[scale.first :], "ms") for name, values in times.items()}
    begin, end = f"start, 1–{scale.first:,}", f"start, {scale.first + 1:,}–{scale.crowd:,}"
    plain, wired = "tmux, a process each", "tmux, control connection"
    yield Row(begin, first["ours"], first["plain"], plain, Target(1.5, of_ratio=True))
    yield Row(begin, first["ours"], first["wired"], wired)
    yield Row(end, way["ours"], way["plain"], plain, Target(1.0, of_ratio=True))
    yield Row(end, way["ours"], way["wired"], wired)
    early = {name: Sample([(mark[1] - mark[0]) * 1000 / scale.first], "ms") for name, mark in marks.items()}
    late = {name: Sample([(mark[3] - mark[2]) * 1000 / scale.first], "ms") for name, mark in marks.items()}
    last = f"CPU a start, {scale.crowd - scale.first + 1:,}–{scale.crowd:,}"
    yield Row(f"CPU a start, 1–{scale.first:,}", early["ours"], early["plain"], plain)
    yield Row(last, late["ours"], late["plain"], plain)
    yield Row(last, late["ours"], early["ours"], f"itself, 1–{scale.first:,}", Target(_FLAT, of_ratio=True))
