"""`python -m bench [NAME…] [--quick] [--write]`: measure, print the table, and keep it in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bench import machine
from bench.scale import FULL, QUICK, TINY, Scale
from bench.table import Row, Table

NAMES = (
    "start",
    "hold",
    "echo",
    "output",
    "printing",
    "kill",
    "cleanup",
    "scan",
    "command",
    "packet",
    "handoff",
    "recall",
    "mcp",
    "page",
)
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
_INTRODUCTION = """# Benchmarks

`make bench` measures this anew; `python -m bench --write` keeps the table here. Everything is measured side by side
in one run, interleaved and repeated: read the ratios, the times are this machine's. Medians, with the quartiles in
brackets (with fewer than eight values: the least and the greatest). CPU is what the scheduler gave to the processes
concerned, user and system. PSS is what a process has alone and its part of what it shares.
"""


def main() -> int:
    options = _parse()
    if machine.tmux_version() is None:
        print("bench needs tmux to measure against: install it first", file=sys.stderr)
        return 2
    scale = TINY if options.tiny else QUICK if options.quick else FULL
    facts, table = machine.facts(), Table()
    ends = time.monotonic() + scale.seconds
    for name in options.names or NAMES:
        left = ends - time.monotonic()
        if left > 0:
            _take(name, scale, table, left)
        else:
            table.failures.append(f"{name} was left out: no time was left for it")
    print(f"\n{_facts(facts)}\n\n{table.plain()}")
    if options.write:
        PAGE.write_text(f"{_INTRODUCTION}\n{_facts(facts)}.\n\n{table.markdown()}\n", encoding="utf-8")
    return 1 if table.failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure Lamplighter side by side with tmux and the MCP SDK."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="a look at all of it in two minutes")
    parser.add_argument("--write", action="store_true", help="keep the table in docs/benchmarks.md")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    return options


def _take(name: str, scale: Scale, table: Table, seconds: float) -> None:
    """One measurement. What goes wrong in it is said below the table, and the others are taken all the same."""
    measure: Callable[[Scale], Iterator[Row]] = importlib.import_module(f"bench.{name}").measure
    began = time.monotonic()
    try:
        with _at_most(seconds):
            for row in measure(scale):
                table.rows.append(row)
                print(f"{name}: {' │ '.join(row.cells())}", flush=True)
    except Exception as error:
        table.failures.append(f"{name} failed: {type(error).__name__}: {error}")
        print(table.failures[-1], flush=True)
    print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """TimeoutError in the middle of whatever is under way; what it had begun is ended on the way out."""

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError("it took too long")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _facts(facts: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in facts.items())


if __name__ == "__main__":
    sys.exit(main())
