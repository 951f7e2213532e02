"""A cleanup of many idle sessions against a loop of `tmux kill-session`: how long it takes, and who is still there after it.

Each is a shell at its prompt with a server that came with it, asked through a pipe, in a session of its own and deaf to HUP, as
an agent's MCP servers often are. Survivors are counted by what /proc says of the marked processes, on both sides alike.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.accounts import cpu_of
from bench.lamps import Lamps, lamps
from bench.peers import Tmux, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target
from tests.support.processes import end_marked, marked, none_left, wait_until

_SETTLE_SECONDS = 2.0  # for tmux, whose kill-session returns before anything has died
_UP_SECONDS = 60.0
_QUIET = "0.5s"


def measure(scale: Scale) -> Iterator[Row]:
    mark = f"mark-{uuid.uuid4().hex}"
    times: dict[str, list[float]] = {"ours": [], "tmux": []}
    left: dict[str, list[float]] = {"ours": [], "tmux": []}
    cpus: list[float] = []
    try:
        with tempfile.TemporaryDirectory() as folder, lamps(LAMPLIGHTER_QUIET=_QUIET) as ours, tmux() as server:
            for number in range(scale.cleanups):
                token = f"{mark}-ours-{number}"
                took, cpu = _clean_up(ours, scale.cleaned, _command(Path(folder), token), token)
                times["ours"].append(took)
                cpus.append(cpu)
                left["ours"].append(_survivors(token))
                token = f"{mark}-tmux-{number}"
                times["tmux"].append(_kill_each(server, scale.cleaned, _command(Path(folder), token), token))
                left["tmux"].append(_survivors(token))
    finally:
        end_marked(mark)
    name = f"cleanup of {scale.cleaned} idle sessions"
    its = "a loop of tmux kill-session"
    yield Row(f"{name}, dead and proven", Sample(times["ours"], "s"), Sample(times["tmux"], "s"), its)
    yield Row(f"{name}, CPU in the daemon", Sample(cpus, "s"))
    found, others = Sample(left["ours"], "processes"), Sample(left["tmux"], "processes")
    yield Row(f"survivors of {2 * scale.cleaned}", found, others, its, Target(0))


def _command(folder: Path, token: str) -> tuple[str, ...]:
    """A shell at its prompt; the server that its startup file starts has the shell's end of a pipe as its input, and does not
    leave when that ends, as it waits for something else."""
    file, fifo = folder / token, folder / f"{token}.fifo"
    os.mkfifo(fifo)
    server = f"trap '' HUP TERM; read x <> {fifo}"
    file.write_text(f'PS1="$ "\ncoproc SERVER {{ exec setsid sh -c "{server}"; }} 2>/dev/null\n')
    return ("bash", "--rcfile", str(file), "-i")


def _clean_up(ours: Lamps, count: int, command: tuple[str, ...], token: str) -> tuple[float, float]:
    ours.start_many(count, *command)
    _wait_for(token, count)
    if not wait_until(lambda: len(ours.warm.call("cleanup_sessions", selection="idle")["rows"]) == count, _UP_SECONDS):
        raise RuntimeError("they are not all idle")
    used, began = cpu_of(ours.daemon()), time.perf_counter()
    plan = ours.warm.call("cleanup_sessions", selection="idle")["plan"]
    done = ours.warm.call("cleanup_sessions", apply=plan)
    took = time.perf_counter() - began
    ours.sessions.clear()
    if done["sums"]["ended"] != count:
        raise RuntimeError(f"not all were ended: {done['sums']}")
    return took, cpu_of(ours.daemon()) - used


def _kill_each(server: Tmux, count: int, command: tuple[str, ...], token: str) -> float:
    names = [server.start(*command) for _ in range(count)]
    _wait_for(token, count)
    began = time.perf_counter()
    for name in names:
        server.run("kill-session", "-t", name)
    took = time.perf_counter() - began
    wait_until(lambda: none_left(token), _SETTLE_SECONDS)
    return took


def _wait_for(token: str, count: int) -> None:
    if not wait_until(lambda: _servers(token) == count, _UP_SECONDS):
        raise RuntimeError("the sessions' servers did not come up")


def _servers(token: str) -> int:
    return sum(1 for process in marked(token) if any("trap" in word for word in process.cmdline))


def _survivors(token: str) -> float:
    """Counted, and then ended: the next round begins with none."""
    count = 0 if none_left(token) else len({process.pid for process in marked(token)})
    end_marked(token)
    return float(count)
