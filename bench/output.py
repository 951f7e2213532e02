"""One session that prints as fast as it can: into its log, and into a bare Python loop that only counts."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from typing import IO

from bench.lamps import Lamps, lamps
from bench.peers import bare_terminal, count_bytes
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.holder.meter import read_meter

_LINE = b"%06d The lamplighter walks the round and puts out every lamp of the street, one by one, until all is dark.\n"
_LOOK_SECONDS = 0.001


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours, tempfile.NamedTemporaryFile(prefix="bench-") as file:
        size = _fill(scale, file)
        # As many bytes come out as are in the file; and on a word, so that no start is in the time.
        command = ("sh", "-c", f"stty -opost -echo; echo ready; read go; cat {file.name}; read end")
        logged: list[float] = []
        counted: list[float] = []
        for _ in range(scale.output_rounds):
            counted.append(size / 1e6 / _bare(command, size))
            logged.append(size / 1e6 / _logged(ours, command, size))
        name = f"output of one session into its log, {size / 1e6:.0f} MB"
        yield Row(
            name, Sample(logged, "MB/s"), Sample(counted, "MB/s"), "bare Python PTY loop", Target(0.5, True, True)
        )


def _fill(scale: Scale, file: IO[bytes]) -> int:
    number = 0
    while file.tell() < scale.output_megabytes * 1_000_000:
        file.write(b"".join(_LINE % ((number + line) % 1_000_000) for line in range(1000)))
        number += 1000
    file.flush()
    return file.tell()


def _bare(command: tuple[str, ...], size: int) -> float:
    with bare_terminal(command) as master:
        count_bytes(master, len("ready\n"))
        began = time.perf_counter()
        os.write(master, b"go\n")
        seen = count_bytes(master, size)
        took = time.perf_counter() - began
    if seen < size:
        raise RuntimeError(f"only {seen} of {size} bytes came through the bare terminal")
    return took


def _logged(ours: Lamps, command: tuple[str, ...], size: int) -> float:
    """Until the meter says that all of it is in the log; it is one small file, so looking disturbs nobody."""
    started = ours.start(*command)
    ours.warm.call("wait_session", session=started["id"], until="text=ready", timeout="10s", since=0)
    offset = _offset(started["folder"])
    began = time.perf_counter()
    ours.warm.call("send_input", session=started["id"], text="go")
    while _offset(started["folder"]) < offset + size:
        time.sleep(_LOOK_SECONDS)
    took = time.perf_counter() - began
    ours.warm.call("kill_session", session=started["id"], force=True, grace="0s")
    ours.rest()
    return took


def _offset(folder: str) -> int:
    found = read_meter(f"{folder}/meter")
    return found.offset if found else 0
