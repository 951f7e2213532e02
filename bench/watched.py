"""A session that prints all the time and is watched on ten pages: whether it is slower for it, and what the daemon needs.

The pages are a process of their own (bench/watchers.py), so that what they do is not in the account.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.accounts import cpu_of, pss_of
from bench.lamps import Lamps, lamps
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.holder.meter import read_meter
from tests.support.web import page

_ROOT = Path(__file__).resolve().parents[1]
_MEGA = 1e6
_RATE = 5_000_000
_WATCHERS = 10
_SILENT = 2  # of them, that never say that they have drawn anything; the last of these does not even read
_LOOKS_A_SECOND = 4
# Coloured lines in pieces of 8 KiB, as a build prints them; behind its time it prints on until it is not.
_PRINTER = f"""
import os, time
line = b"\\x1b[32m%07d\\x1b[m The lamplighter walks the round and puts out every lamp of the street, one by one\\r\\n"
number, sent, began = 0, 0, time.monotonic()
while True:
    piece = b"".join(line % (number + more) for more in range(85))
    number += 85
    while piece:
        done = os.write(1, piece)
        sent, piece = sent + done, piece[done:]
    time.sleep(max(0, began + sent / {_RATE} - time.monotonic()))
"""
_COMMAND = (sys.executable, "-I", "-S", "-c", _PRINTER)


@dataclass(frozen=True)
class _Round:
    alone: float  # MB/s
    rate: float
    got: float
    cpu: float  # percent of a core
    grown: float  # MB


def watched(scale: Scale) -> Iterator[Row]:
    with lamps(LAMPLIGHTER_HTTP_PORT="0") as ours:
        session = ours.start(*_COMMAND)
        with _watching(ours, session["id"], 1, 0):
            pass  # what serving the first page loads is not what watchers cost
        rounds = [_round(ours, session, scale.watched_seconds) for _ in range(scale.watched_rounds)]
    yield from _rows(rounds, scale.watched_seconds)


def _round(ours: Lamps, session: dict[str, Any], seconds: float) -> _Round:
    folder, daemon = session["folder"], ours.daemon()
    alone, _, _ = _rate(ours, folder, seconds / 4)
    before = pss_of(daemon)
    with _watching(ours, session["id"], _WATCHERS, _SILENT) as got:
        began = time.perf_counter()
        rate, cpu, most = _rate(ours, folder, seconds)
        took = time.perf_counter() - began
    return _Round(alone, rate, statistics.median(got) / took, cpu, max(0.0, (most - before) / _MEGA))


def _rows(rounds: list[_Round], seconds: float) -> Iterator[Row]:
    def sample(name: str, unit: str) -> Sample:
        return Sample([getattr(one, name) for one in rounds], unit)

    name = f"a session prints {_RATE / _MEGA:g} MB/s to {_WATCHERS} pages, {_SILENT} of them stuck"
    seen, alone = sample("rate", "MB/s"), sample("alone", "MB/s")
    yield Row(f"{name}: it prints", seen, alone, "to none", Target(0.91, of_ratio=True, at_least=True))
    yield Row(f"{name}: a page gets", sample("got", "MB/s"), seen, "printed")
    yield Row(f"{name}: the daemon grows in {seconds:g} s", sample("grown", "MB"), target=Target(20))
    yield Row(f"{name}: CPU of the daemon, of a core", sample("cpu", "%"))


def _rate(ours: Lamps, folder: str, seconds: float) -> tuple[float, float, int]:
    """MB/s that came into the log, the daemon's share of a core, and the most memory that it had meanwhile."""
    daemon, most = ours.daemon(), 0
    offset, used, began = _offset(folder), cpu_of(daemon), time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        most = max(most, pss_of(daemon))
        time.sleep(min(1 / _LOOKS_A_SECOND, max(0.0, seconds - took)))
    took = time.perf_counter() - began
    return (_offset(folder) - offset) / _MEGA / took, 100 * (cpu_of(daemon) - used) / took, most


def _offset(folder: str) -> int:
    found = read_meter(f"{folder}/meter")
    return found.offset if found else 0


@contextmanager
def _watching(ours: Lamps, session: str, number: int, silent: int) -> Generator[list[float]]:
    """From when all of them have their first screen, until all have gone; then the megabytes that each of those that draw got."""
    made = page(ours.engine)
    told = (str(made.port), made.cookie or "", made.proof or "", session, str(number), str(silent))
    command = (sys.executable, "-m", "bench.watchers", *told)
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin
            assert process.stdout
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("the watchers did not come up")
            got: list[float] = []
            yield got
            process.stdin.close()
            got += [int(word) / _MEGA for word in process.stdout.readline().split()]
            if process.wait(timeout=30):
                raise RuntimeError("a watcher lost its session")
        finally:
            process.kill()
