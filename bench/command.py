"""The command line: `lamp ls` as a person runs it, against an interpreter that only imports what any client needs."""

from __future__ import annotations

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


def _timed(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000
