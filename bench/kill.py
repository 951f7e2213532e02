"""Killing trees that do not want to die: how long until the death is proven, and who is still there after it.

Survivors are counted by what /proc says of the marked processes, on both sides alike, with nothing of the product.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.lamps import Lamps, lamps
from bench.peers import Tmux, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.holder import cgroup
from tests.support.engine import ESCAPEES
from tests.support.processes import end_marked, marked, none_left, wait_until

TEN = (
    "nohup",
    "deaf",
    "stopped",
    "background",
    "orphan",
    "setsid",
    "setsid-scrubbed",
    "daemon",
    "daemon-scrubbed",
    "hopper",
)
_PATHS: dict[str, dict[str, str]] = {"kernel": {}, "tree": {"LAMPLIGHTER_CGROUP": "off"}}
_SETTLE_SECONDS = 2.0  # for tmux, whose kill-session returns before anything has died


def measure(scale: Scale) -> Iterator[Row]:
    mark = f"mark-{uuid.uuid4().hex}"
    try:
        yield from _trees(scale, mark)
        for path in _paths():
            yield from _forests(scale, path, mark)
    finally:
        end_marked(mark)


def _paths() -> list[str]:
    """The tree path is there always, the kernel's where a cgroup can be made."""
    base = cgroup.make_base(f"lamplighter-probe-{os.getpid()}")
    if base is None:
        return ["tree"]
    os.rmdir(base)
    return ["kernel", "tree"]


def _trees(scale: Scale, mark: str) -> Iterator[Row]:
    """One tree at a time: each path of ours and tmux in turn."""
    with ExitStack() as stack:
        server = stack.enter_context(tmux())
        sides = {path: stack.enter_context(lamps(**_PATHS[path])) for path in _paths()}
        times: dict[str, list[float]] = {path: [] for path in (*sides, "tmux")}
        left: dict[str, list[float]] = {path: [] for path in (*sides, "tmux")}
        for number in range(scale.trees):
            for path, ours in sides.items():
                token = f"{mark}-{path}-{number}"
                times[path].append(_kill_forest(ours, 1, token))
                left[path].append(_survivors(token))
            token = f"{mark}-tmux-{number}"
            times["tmux"].append(_kill_in_tmux(server, token))
            wait_until(lambda token=token: none_left(token), _SETTLE_SECONDS)
            left["tmux"].append(_survivors(token))
    its_time, its_left = Sample(times["tmux"], "s"), Sample(left["tmux"], "processes")
    for path in sides:
        name, took = f"ten escapees dead and proven, {path}", Sample(times[path], "s")
        yield Row(name, took, its_time, "tmux kill-session, which proves nothing", Target(0.5))
        name, found = f"survivors of eleven, {path}", Sample(left[path], "processes")
        yield Row(name, found, its_left, "tmux kill-session", Target(0))


def _forests(scale: Scale, path: str, mark: str) -> Iterator[Row]:
    """Many trees killed together. Their hoppers fork all the while, so the machine is busy before the first kill."""
    times: list[float] = []
    left: list[float] = []
    with lamps(**_PATHS[path]) as ours:
        for number in range(scale.forests):
            token = f"{mark}-forest-{path}-{number}"
            times.append(_kill_forest(ours, scale.forest, token))
            left.append(_survivors(token))
    yield Row(f"{scale.forest} such sessions killed together, {path}", Sample(times, "s"), target=Target(3.0))
    yield Row(f"survivors of {scale.forest * 11}, {path}", Sample(left, "processes"), target=Target(0))


def _kill_forest(ours: Lamps, size: int, token: str) -> float:
    started = ours.start_each([_command(token, ours.engine.folder / f"{token}-{number}") for number in range(size)])
    waits = [{"session": one["id"], "until": "text=ready", "since": 0, "timeout": "60s"} for one in started]
    ours.warm.call_all("wait_session", waits, size)
    wishes = [{"session": one["id"], "force": True, "grace": "0s"} for one in started]
    began = time.perf_counter()
    ended = ours.warm.call_all("kill_session", wishes, size)
    took = time.perf_counter() - began
    ours.sessions.clear()
    unproven = [one["id"] for one in ended if one["state"] != "ended" or one["certificate"]["survivors"]]
    if unproven:
        raise RuntimeError(f"no proof of death for {', '.join(unproven)}")
    return took


def _kill_in_tmux(server: Tmux, token: str) -> float:
    report = Path(server.environment["TMUX_TMPDIR"]) / token
    name = server.start(*_command(token, report))
    if not wait_until(lambda: report.exists() and report.read_text().endswith("\n"), 60.0):
        raise RuntimeError("the escapees did not come up in tmux")
    began = time.perf_counter()
    server.run("kill-session", "-t", name)
    return time.perf_counter() - began


def _command(token: str, report: Path) -> tuple[str, ...]:
    return (sys.executable, ESCAPEES, *TEN, "--mark", token, "--report", str(report))


def _survivors(token: str) -> float:
    """Counted, and then ended: the next round begins with none."""
    count = 0 if none_left(token) else len({process.pid for process in marked(token)})
    end_marked(token)
    return float(count)
