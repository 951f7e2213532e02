"""The command line: `lamp ls` as a person runs it, against an interpreter that only imports what any client needs; and
`lamp hook` as agents run it at each of their events, against an interpreter that does nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.lamps import lamps
from bench.scale import Scale
from bench.table import Row, Sample, Target

_PEER = "import json, socket"


def measure(scale: Scale) -> Iterator[Row]:
    lamp = str(Path(sys.executable).with_name("lamp"))
    with lamps() as ours:
        ours.start_many(scale.neighbours)
        listed: list[float] = []
        bare: list[float] = []
        for _ in range(scale.commands):
            listed.append(_timed([lamp, "ls"], ours.engine.environment))
            bare.append(_timed([sys.executable, "-c", _PEER], ours.engine.environment))
        name = f"lamp ls, {scale.neighbours} sessions"
        yield Row(name, Sample(listed, "ms"), Sample(bare, "ms"), f'python -c "{_PEER}"', Target(3.0, of_ratio=True))
        for event in ("stop", "start"):
            yield _hook(lamp, event, scale.commands, ours.engine.environment)


def _hook(lamp: str, event: str, times: int, environment: Mapping[str, str]) -> Row:
    """CPU: how long an agent is kept waiting depends on what else runs."""
    hooked: list[float] = []
    bare: list[float] = []
    for _ in range(times):
        hooked.append(_cpu([lamp, "hook", "claude", event], environment))
        bare.append(_cpu([sys.executable, "-c", "pass"], environment))
    name = f"lamp hook claude {event}, CPU"
    return Row(name, Sample(hooked, "ms"), Sample(bare, "ms"), 'python -c "pass"', Target(2.0, of_ratio=True))


def _cpu(command: Sequence[str], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = b'{"session_id": "7c0b1b52", "cwd": "/", "source": "startup"}'
    subprocess.run(command, env=environment, input=said, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def _timed(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000
