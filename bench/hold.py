"""Holding many sessions that do nothing: memory, idle CPU, and how long it takes to list them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from bench.accounts import cpu_of, private_of, pss_of
from bench.lamps import Lamps, lamps
from bench.peers import Tmux, control, tmux
from bench.printing import shares_of
from bench.scale import Scale
from bench.table import Row, Sample, Target

_MEGA = 1e6
_FACTS = ["ppid", "status", "cpu_times", "memory_info", "create_time"]
_STALE_SECONDS = 2.2  # the daemon looks at /proc again when its last look is older than two seconds


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours, tmux() as server, control(server) as wired:
        began = time.perf_counter()
        ours.start_many(scale.held)
        together = Sample([(time.perf_counter() - began) * 1000 / scale.held], "ms")
        for _ in range(scale.held):
            wired.start()
        yield Row(f"a start, {scale.held:,} asked for four at a time", together)
        yield from _memory(scale, ours, server)
        yield from _idle(scale, ours, server)
        yield from _listing(scale, ours, server)
        yield from _verdicts(scale, ours)


def _memory(scale: Scale, ours: Lamps, server: Tmux) -> Iterator[Row]:
    held, shims = f"{scale.held:,} held: ", ours.shims()
    pss = [pss_of(pid) / _MEGA for pid in shims]
    all_of_it = sum(pss) + (pss_of(ours.daemon()) + pss_of(ours.keeper())) / _MEGA
    peer = Sample([pss_of(server.server) / _MEGA / scale.held], "MB")
    yield Row(held + "PSS a shim", Sample(pss, "MB"), peer, "tmux server / sessions", Target(1.5))
    yield Row(held + "private memory a shim", Sample([private_of(pid) / _MEGA for pid in shims], "MB"))
    yield Row(held + "PSS of everything / sessions", Sample([all_of_it / scale.held], "MB"))
    yield Row(held + "PSS of the daemon", Sample([pss_of(ours.daemon()) / _MEGA], "MB"), target=Target(150))
    yield Row(held + "PSS of the keeper", Sample([pss_of(ours.keeper()) / _MEGA], "MB"))


def _idle(scale: Scale, ours: Lamps, server: Tmux) -> Iterator[Row]:
    """Nobody asks for anything meanwhile; both sides over the same stretches of time."""
    found = [shares_of(ours, server, scale.idle_seconds) for _ in range(scale.idle_rounds)]
    mine, its = Sample([one for one, _ in found], "%"), Sample([one for _, one in found], "%")
    name = f"{scale.held:,} held: idle CPU of one core, over {scale.idle_seconds * scale.idle_rounds:g} s"
    yield Row(name, mine, its, "tmux server", Target(1.0))


def _listing(scale: Scale, ours: Lamps, server: Tmux) -> Iterator[Row]:
    name = f"{scale.held:,} held: list_sessions"
    walls: list[float] = []
    cpus: list[float] = []
    peers: list[float] = []
    _list(ours)
    for _ in range(scale.listings):
        wall, cpu = _list(ours)
        walls.append(wall)
        cpus.append(cpu)
        began = time.perf_counter()
        server.run("list-sessions")
        peers.append((time.perf_counter() - began) * 1000)
    yield Row(f"{name}, round trip", Sample(walls, "ms"), Sample(peers, "ms"), "tmux list-sessions", Target(20))
    yield Row(f"{name}, CPU in the daemon", Sample(cpus, "ms"), target=Target(20))
    stale: list[float] = []
    for _ in range(min(3, scale.listings)):
        time.sleep(_STALE_SECONDS)
        stale.append(_list(ours)[0])
    yield Row(f"{name}, the first in a while", Sample(stale, "ms"))


def _verdicts(scale: Scale, ours: Lamps) -> Iterator[Row]:
    """A look at every process and a verdict on every session, and the answer of it; against a pass over the same processes that
    reads what a verdict needs, in a fresh Python each time, as psutil keeps what it has read before."""
    cpus: list[float] = []
    passes: list[float] = []
    bare: list[float] = []
    for _ in range(scale.looks):
        time.sleep(_STALE_SECONDS)
        cpus.append(_list(ours)[1])
        passes.append(_psutil_pass(_FACTS))
        bare.append(_psutil_pass(None))
    name, mine = f"{scale.held:,} held: a verdict on each, CPU", Sample(cpus, "ms")
    yield Row(
        name, mine, Sample(passes, "ms"), "psutil process_iter with the facts of a verdict", Target(1.0, of_ratio=True)
    )
    yield Row(name, mine, Sample(bare, "ms"), "psutil process_iter, pids and start times alone")


def _psutil_pass(facts: list[str] | None) -> float:
    """Milliseconds of CPU."""
    code = (
        "import time, psutil; began = time.process_time(); "
        f"found = list(psutil.process_iter({facts!r})); print(time.process_time() - began)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) * 1000


def _list(ours: Lamps) -> tuple[float, float]:
    """Milliseconds until the whole answer is here, unread; and the daemon's CPU for it."""
    daemon = ours.daemon()
    used, began = cpu_of(daemon), time.perf_counter()
    ours.warm.ask("list_sessions", limit=100_000)
    ours.warm.line()
    return (time.perf_counter() - began) * 1000, (cpu_of(daemon) - used) * 1000
