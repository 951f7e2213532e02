"""Many sessions that print a little all the time: what holding them costs, both sides over the same stretch of time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from bench.lamps import Lamps, lamps
from bench.peers import Tmux, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target
from tests.support.processes import wait_until

_LINES_A_SECOND = 10
# Python and not a shell: a shell would fork a sleep for each line, and that would be all there is to see.
_PRINTER = f"""
import os, time
number, due = 0, time.monotonic()
while True:
    number, due = number + 1, due + 1 / {_LINES_A_SECOND}
    os.write(1, b"line %d of a session that prints a little all the time\\n" % number)
    time.sleep(max(0, due - time.monotonic()))
"""
_COMMAND = (sys.executable, "-I", "-S", "-c", _PRINTER)


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours, tmux() as server:
        ours.start_many(scale.printers, *_COMMAND)
        names = [server.start(*_COMMAND) for _ in range(scale.printers)]
        _settle(ours, server, names)
        found = [shares_of(ours, server, scale.printing_seconds) for _ in range(scale.printing_rounds)]
        mine, its = Sample([one for one, _ in found], "%"), Sample([one for _, one in found], "%")
        name = f"{scale.printers} sessions × {_LINES_A_SECOND} lines/s: CPU of what holds them, of a core"
        yield Row(name, mine, its, "tmux server", Target(1.0, of_ratio=True))


def _settle(ours: Lamps, server: Tmux, names: list[str]) -> None:
    """Until the last one started has printed on both sides."""
    last = ours.sessions[-1]["id"]
    ours.warm.call("wait_session", session=last, until="text=line 3", since=0, timeout="60s")
    wait_until(lambda: "line 3" in server.run("capture-pane", "-p", "-t", names[-1]), 60.0)


def shares_of(ours: Lamps, server: Tmux, seconds: float) -> tuple[float, float]:
    """Percent of a core that holding the sessions takes: ours, and tmux's."""
    before, peer_before, began = ours.holders_cpu(), server.holders_cpu(), time.perf_counter()
    time.sleep(seconds)
    used, peer_used = ours.holders_cpu() - before, server.holders_cpu() - peer_before
    share = 100 / (time.perf_counter() - began)
    return used * share, peer_used * share
