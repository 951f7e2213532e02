"""The kinds of faults, one file a group. Each has `run(stage)`, which injects up to `stage.limit` of them and says what broke."""

from __future__ import annotations

# What share of a thousand faults each kind has, and how many are in one scene (with one engine).
SHARES: dict[str, tuple[int, int]] = {
    "trees": (450, 25),
    "kills": (350, 25),
    "stopped": (50, 5),
    "sockets": (40, 4),
    "folders": (30, 3),
    "store": (25, 1),
    "disk": (15, 3),
    "descriptors": (20, 4),
    "clock": (20, 5),
}
NEEDS_ROOT = ("disk",)
