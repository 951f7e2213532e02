"""The campaign itself runs: a few faults of every kind hold, and what is planted is found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from faults.kinds import NEEDS_ROOT, SHARES
from tests.support.places import ROOT

FAULTS = 9


def campaign(*words: str) -> tuple[int, str, dict[str, list[str]]]:
    """Its exit status, what it printed, and its table by kind."""
    done = subprocess.run(
        [sys.executable, "-m", "faults", "--seed", "1", *words],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    cells = [[cell.strip() for cell in line.split("│")] for line in done.stdout.splitlines() if "│" in line]
    return done.returncode, done.stdout + done.stderr, {row[0]: row for row in cells}


def test_a_small_campaign_has_every_kind_and_nothing_is_broken() -> None:
    status, said, rows = campaign("--faults", str(FAULTS))
    assert status == 0, said
    assert set(rows) >= {kind for kind in SHARES if os.getuid() == 0 or kind not in NEEDS_ROOT}
    assert all(int(row[2]) >= 1 for kind, row in rows.items() if kind in SHARES), said
    assert rows["all"][3] == "0"
    assert f"seed 1; faults {FAULTS}" in said


def test_a_violation_that_is_planted_is_found() -> None:
    status, said, rows = campaign("--faults", str(FAULTS), "--only", "sockets", "--plant")
    assert status == 1, said
    assert int(rows["sockets"][3]) >= 1
    assert "healthy sessions go on" in said
    (kept,) = [Path(line.split()[3]) for line in said.splitlines() if "steps and engine:" in line]
    shutil.rmtree((kept / "home").read_text())
    shutil.rmtree(kept.parent)


def test_an_unknown_kind_is_refused() -> None:
    status, said, _ = campaign("--only", "unheard-of")
    assert status == 2
    assert "unheard-of" in said
