"""MCP: the bridge against the SDK's own trivial echo server, a call against its echo, how large its answers are, and many
bridges at once.

The daemon runs and has served a client before: that is how agents find it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.accounts import cpu_of, memory_of
from bench.lamps import Lamps, lamps
from bench.mcp_wire import BRIDGE, ECHO, Piped, Posted
from bench.scale import Scale
from bench.table import Row, Sample, Target
from tests.support.processes import wait_until

_ROOT = Path(__file__).resolve().parents[1]
_PEER = "the SDK's echo server"
_MEGABYTE = 1 << 20
_FLAT = 1.05
_SELECTION = "state:running"
Caller = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """One call of ours and the peer's echo, over the same way."""

    way: str
    mine: Caller
    its: Caller
    peer: int
    peer_name: str
    target: Target | None


def measure(scale: Scale) -> Iterator[Row]:
    with lamps(LAMPLIGHTER_HTTP_PORT="0") as ours:
        ours.start_many(scale.neighbours)
        yield from _starts(scale, ours)
        for pair in _pairs(ours, scale.neighbours):
            yield from _calls(scale, ours, pair)
        yield from _answers(ours, scale.neighbours)
    with lamps() as ours:
        ours.start_many(scale.neighbours)
        yield from _crowd(scale, ours)


def _pairs(ours: Lamps, number: int) -> Iterator[Pair]:
    twice = Target(2.0, of_ratio=True)
    with _greeted(ours, BRIDGE) as bridge, _greeted(ours, ECHO) as echo:
        yield Pair("stdio", _listing(bridge, number), _echoing(echo), echo.process.pid, f"{_PEER}, echo", twice)
    for mode, target in (("", twice), ("json", None)):
        with _posted(ours) as door, _posted_echo(mode) as (echo, pid):
            name = f"{_PEER}, echo{', json_response' if mode else ''}"
            yield Pair("HTTP", _listing(door, number), _echoing(echo), pid, name, target)


@contextmanager
def _greeted(ours: Lamps, command: tuple[str, ...]) -> Generator[Piped]:
    with closing(Piped(command, ours.engine.environment, _ROOT)) as made:
        made.greet()
        yield made


@contextmanager
def _posted(ours: Lamps) -> Generator[Posted]:
    token = ours.warm.call("create_token", name=f"bench-{uuid.uuid4().hex[:8]}", scope="read")
    with closing(Posted(int(token["url"].split(":")[2].partition("/")[0]), token=token["secret"])) as made:
        made.greet()
        yield made


@contextmanager
def _posted_echo(mode: str) -> Generator[tuple[Posted, int]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([*ECHO, str(port), *mode.split()], cwd=_ROOT, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port), 30.0)
        with closing(Posted(port)) as made:
            made.greet()
            yield made, process.pid
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# -- from nothing to the first answer


def _starts(scale: Scale, ours: Lamps) -> Iterator[Row]:
    found: dict[tuple[str, ...], list[tuple[float, float, float]]] = {BRIDGE: [], ECHO: []}
    for _ in range(scale.bridges_started):
        for command, values in found.items():
            values.append(_start(ours, command))
    (times, cpus, sizes), (its_times, its_cpus, its_sizes) = (
        list(zip(*found[side], strict=True)) for side in (BRIDGE, ECHO)
    )
    quarter = Target(0.25, of_ratio=True)
    yield Row("a bridge: start → tools listed", Sample(times, "ms"), Sample(its_times, "ms"), _PEER, quarter)
    yield Row("a bridge: CPU until then", Sample(cpus, "ms"), Sample(its_cpus, "ms"), _PEER)
    yield Row("a bridge: RSS", Sample(sizes, "MB"), Sample(its_sizes, "MB"), _PEER, quarter)


def _start(ours: Lamps, command: tuple[str, ...]) -> tuple[float, float, float]:
    """Milliseconds until the tools are listed, of CPU too, and the megabytes that are resident then."""
    began = time.perf_counter()
    with _greeted(ours, command) as made:
        taken, pid = time.perf_counter() - began, made.process.pid
        return taken * 1000, cpu_of(pid) * 1000, memory_of(pid)["Rss"] / _MEGABYTE


# -- a call


def _listing(server: Piped | Posted, number: int) -> Caller:
    found = server.call("list_sessions", selection=_SELECTION)["structuredContent"]["sessions"]
    if len(found) != number:
        raise RuntimeError(f"{len(found)} sessions were listed, and there are {number}")
    return lambda: server.call("list_sessions", selection=_SELECTION)


def _echoing(server: Piped | Posted) -> Caller:
    return lambda: server.call("echo", text="hello")


def _calls(scale: Scale, ours: Lamps, pair: Pair) -> Iterator[Row]:
    """Both in turn; the first of each is not counted."""
    daemon, calls = ours.daemon(), (pair.mine, pair.its)
    times: tuple[list[float], list[float]] = ([], [])
    for call in calls:
        call()
    before = [cpu_of(daemon), cpu_of(pair.peer)]
    for _ in range(scale.mcp_calls):
        for call, values in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            values.append((time.perf_counter() - began) * 1000)
    mine, its = (
        (cpu_of(pid) - then) * 1000 / scale.mcp_calls for pid, then in zip((daemon, pair.peer), before, strict=True)
    )
    name = f"list_sessions of {scale.neighbours} over {pair.way}"
    yield Row(name, Sample(times[0], "ms"), Sample(times[1], "ms"), pair.peer_name, pair.target)
    yield Row(f"{name}, CPU of the server", Sample([mine], "ms"), Sample([its], "ms"), pair.peer_name)


# -- what a model reads


def _answers(ours: Lamps, number: int) -> Iterator[Row]:
    """Of each answer both parts, in bytes: a client gives its model one or the other."""
    with _greeted(ours, BRIDGE) as bridge:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        session = bridge.call("start_session", command=["sh", "-c", "seq 1000; exec cat"], name=name)
        bridge.call("wait_session", session=name, until="text=1000", since=0)
        asked: list[tuple[str, str, dict[str, object]]] = [
            (f"list_sessions of {number}", "list_sessions", {"selection": _SELECTION}),
            ("get_session", "get_session", {"session": name}),
            ("read_output of 200 lines", "read_output", {"session": name, "mode": "output", "lines": 200}),
            ("wait_session", "wait_session", {"session": name, "until": "text=1000", "since": 0}),
            ("end_session", "end_session", {"session": name}),
        ]
        yield from _sizes("start_session", session)
        for title, tool, arguments in asked:
            yield from _sizes(title, bridge.call(tool, **arguments))


def _sizes(title: str, result: dict[str, Any]) -> Iterator[Row]:
    content = sum(len(part["text"].encode()) for part in result["content"])
    yield Row(f"{title}: content", Sample([content], "bytes"))
    yield Row(f"{title}: structuredContent", Sample([len(_structure(result))], "bytes"))


def _structure(result: dict[str, Any]) -> bytes:
    """As a client writes it down for its model; nothing where a tool's result is a text."""
    found = result.get("structuredContent")
    return b"" if found is None else json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


# -- many at once


def _crowd(scale: Scale, ours: Lamps) -> Iterator[Row]:
    """Waves of bridges that connect, call and leave. The first has made what is made once."""
    errors: list[float] = []
    rates: list[float] = []
    full: list[float] = []
    sizes: list[float] = []
    for _ in range(scale.crowd_waves + 1):
        failed, rate, size = _wave(scale, ours)
        errors.append(failed)
        rates.append(rate)
        full.append(size)
        ours.rest()
        sizes.append(_size(ours))
    name = f"{scale.crowd_bridges} bridges × {scale.crowd_calls} calls at once"
    yield Row(f"{name}: failed", Sample(errors, "errors"), None, "", Target(0))
    yield Row(f"{name}: calls a second", Sample(rates[1:], "calls/s"))
    yield Row(f"{name}: PSS of the daemon with all of them connected", Sample(full, "MB"))
    yield Row(f"{name}: PSS of the daemon after it", Sample(sizes[1:], "MB"), Sample(sizes[:1], "MB"),
              "itself, after the first time", Target(_FLAT, of_ratio=True))  # fmt: skip


def _wave(scale: Scale, ours: Lamps) -> tuple[int, float, float]:
    """How many calls failed, how many a second succeeded while all of them called, and what the daemon held then."""
    with ExitStack() as stack, ThreadPoolExecutor(scale.crowd_bridges) as pool:
        crowd = list(pool.map(lambda _: Piped(BRIDGE, ours.engine.environment), range(scale.crowd_bridges)))
        for bridge in crowd:
            stack.callback(bridge.close)
        list(pool.map(Piped.greet, crowd))
        began = time.perf_counter()
        failed = sum(pool.map(lambda bridge: _failures(bridge, scale.crowd_calls), crowd))
        taken = time.perf_counter() - began
        return failed, (scale.crowd_bridges * scale.crowd_calls - failed) / taken, _size(ours)


def _size(ours: Lamps) -> float:
    return memory_of(ours.daemon())["Pss"] / _MEGABYTE


def _failures(bridge: Piped, number: int) -> int:
    """How many of these calls failed. A bridge that went away fails all that are left."""
    for done in range(number):
        try:
            bridge.call("list_sessions", selection=_SELECTION)
        except (RuntimeError, OSError):
            return number - done
    return 0
