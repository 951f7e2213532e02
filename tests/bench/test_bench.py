"""Every measurement runs, at the smallest size, and makes lines of a well-formed table. Speed is not tested here."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT

HEADINGS = ["measurement", "Lamplighter", "peer", "ratio", "target", "met?"]
# What is a difference of two can come out below nothing on a busy machine.
VALUE = re.compile(r"-?[\d,.]+ (ms|s|bytes|kB|MB|MB/s|%|processes|errors|calls/s)( \(-?[\d,.]+–-?[\d,.]+\))?")


def lines_of(*names: str) -> list[list[str]]:
    """The table as lists of cells, without the rule under the headings."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *names, "--tiny"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout[done.stdout.index("\nmeasurement ") :].strip().splitlines()
    cells = [[cell.strip() for cell in line.split("│")] for line in table]
    return [cells[0], *cells[2:]]


NAMES = (
    "start",
    "hold",
    "echo",
    "output",
    "printing",
    "kill",
    "cleanup",
    "command",
    "packet",
    "handoff",
    "recall",
    "mcp",
    "page",
)
SLOW = ("hold", "echo", "output", "printing", "kill", "mcp", "page")
"""Each needs ten seconds and more, also for the least: in the long run alone."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.deep if name in SLOW else ()) for name in NAMES])
def test_each_measurement_makes_whole_lines(name: str) -> None:
    headings, *rows = lines_of(name)
    assert headings == HEADINGS
    assert rows
    for measurement, ours, peer, ratio, target, met in rows:
        assert measurement
        assert VALUE.fullmatch(ours), ours
        assert peer == "–" or VALUE.match(peer), peer
        assert ratio == "–" or re.fullmatch(r"[\d.]+ ×", ratio), ratio
        assert target == "–" or re.fullmatch(r"[≤≥] [\d.]+ (×|ms|s|kB|MB|%|processes|errors)", target), target
        assert (met in ("yes", "NO")) == (target != "–")


def test_an_unknown_measurement_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "unheard-of"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "unheard-of" in done.stderr
