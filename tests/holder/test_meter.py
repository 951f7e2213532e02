"""A meter is read while it is written, by another process: no reading is of half a write."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

from lamplighter.holder.meter import unpack_reading
from tests.support.processes import wait_until

READINGS = 200_000
# Somebody is attached for as long as it runs, and all that changes is how far the output is.
WRITER = """
import sys
from lamplighter.holder.meter import Meter
meter = Meter(sys.argv[1])
meter.attached = 1
while True:
    meter.offset += 1
    meter.heard = meter.last_output = float(meter.offset)
    meter.write()
"""


def test_nobody_is_seen_to_leave_while_the_meter_is_written(tmp_path: Path) -> None:
    path = tmp_path / "meter"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as writer:
        try:
            assert wait_until(lambda: path.exists() and path.stat().st_size and any(path.read_bytes()))
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as seen:
                readings = [unpack_reading(seen) for _ in range(READINGS)]
        finally:
            writer.kill()
    whole = [reading for reading in readings if reading is not None and reading.attached and reading.heard]
    assert len(whole) == READINGS
    offsets = [reading.offset for reading in whole]
    assert offsets == sorted(offsets)
    assert offsets[0] < offsets[-1], "it was not written meanwhile"
