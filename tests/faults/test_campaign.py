"""The campaign itself runs: a few faults of the kinds that need little, with a seed that is known to hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_small_campaign_runs_to_its_table() -> None:
    kinds = ("trees", "kills", "stopped", "sockets", "clock", "descriptors")
    words = [word for kind in kinds for word in ("--only", kind)]
    done = subprocess.run(
        [sys.executable, "-m", "faults", "--seed", "1", "--faults", "9", *words],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {line.split("│")[0].strip(): line.split("│") for line in done.stdout.splitlines() if "│" in line}
    assert set(rows) >= {*kinds, "all"}
    assert int(rows["all"][2]) >= len(kinds)
    assert rows["all"][3].strip() == "0"
    assert re.search(r"seed 1; faults 9", done.stdout)


def test_an_unknown_kind_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "faults", "--only", "unheard-of"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "unheard-of" in done.stderr
