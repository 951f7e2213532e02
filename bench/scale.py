"""How much of everything is measured: the full run, a quick look, and the least that still runs every line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    first: int = 100  # starts that count as "at 100"
    crowd: int = 1000  # starts on the way
    lonely: int = 40  # starts with a pause before each
    lonely_pause: float = 0.1
    held: int = 1000
    idle_seconds: float = 5.0
    idle_rounds: int = 4
    listings: int = 50
    looks: int = 5
    echoes: int = 400
    neighbours: int = 20  # sessions beside the one that echoes, and for `lamp ls`
    output_megabytes: int = 48
    output_rounds: int = 7
    printers: int = 200
    printing_seconds: float = 5.0
    printing_rounds: int = 4
    trees: int = 7
    forest: int = 50
    forests: int = 3
    cleaned: int = 100
    cleanups: int = 3
    scanned: int = 2000  # sleeping processes beside what is there
    scans: int = 15
    commands: int = 40
    bridges_started: int = 15
    mcp_calls: int = 300
    crowd_bridges: int = 50
    crowd_calls: int = 100
    crowd_waves: int = 2
    records: int = 100_000  # in the store that packets are made from
    packets: int = 60
    endings: int = 40
    questions: int = 500
    searches: int = 200
    seconds: float = 600.0  # for the whole run


FULL = Scale()
QUICK = Scale(
    first=40,
    crowd=200,
    lonely=15,
    held=200,
    idle_seconds=1.0,
    listings=20,
    echoes=100,
    output_megabytes=16,
    output_rounds=3,
    printers=50,
    printing_seconds=2.0,
    printing_rounds=2,
    trees=3,
    forest=8,
    forests=1,
    looks=2,
    cleaned=20,
    cleanups=2,
    scanned=500,
    scans=9,
    commands=15,
    bridges_started=5,
    mcp_calls=100,
    crowd_bridges=20,
    crowd_calls=20,
    crowd_waves=1,
    packets=20,
    endings=12,
    questions=500,
    searches=50,
    seconds=90.0,
)
TINY = Scale(
    first=2,
    crowd=4,
    lonely=2,
    held=2,
    idle_seconds=0.1,
    idle_rounds=2,
    listings=2,
    echoes=2,
    neighbours=2,
    output_megabytes=1,
    output_rounds=2,
    printers=2,
    printing_seconds=0.2,
    printing_rounds=2,
    trees=1,
    forest=2,
    forests=1,
    looks=1,
    cleaned=2,
    cleanups=1,
    scanned=100,
    scans=1,
    commands=2,
    bridges_started=1,
    mcp_calls=2,
    crowd_bridges=2,
    crowd_calls=2,
    crowd_waves=1,
    records=200,
    packets=2,
    endings=2,
    questions=1,
    searches=1,
    seconds=90.0,
)
