"""The conformance suite of the protocol's keepers, over HTTP, for the revision with sessions and for the one without.

What is expected to fail stands in expected-failures.toml with its reason. The list is checked in both directions.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Reach

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "expected-failures.toml").read_text())
FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


def checks_of(results: Path) -> dict[str, dict[str, list[str]]]:
    """By scenario, each check that was made: what came of it, as often as it was made."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in results.glob("*/checks.json"):
        named = FOLDER.fullmatch(file.parent.name)
        assert named is not None, file
        checks = found.setdefault(named["scenario"], {})
        for check in json.loads(file.read_text()):
            checks.setdefault(check["id"], []).append(check["status"])
    return found


def failures(checks: dict[str, dict[str, list[str]]], expected: dict[str, str]) -> set[str]:
    """What failed, in the words of the list: a whole scenario where that is listed, else each check of it."""
    failed: set[str] = set()
    for scenario, made in checks.items():
        for check, statuses in made.items():
            if "FAILURE" in statuses:
                failed.add(scenario if scenario in expected else f"{scenario}:{check}")
    return failed


@pytest.mark.parametrize(("revision", "least"), [("2025-11-25", 80), ("2026-07-28", 130)])
def test_the_requirements_of_a_revision(reach: Reach, tmp_path: Path, revision: str, least: int) -> None:
    expected: dict[str, str] = EXPECTED[revision]
    asked = ("server", "--url", reach.url("everything"), "--requirements", revision, "-o", str(tmp_path))
    done = reach.node("conformance", *asked, NODE_OPTIONS=f"--import={HERE / 'node' / 'bearer.mjs'}")
    checks = checks_of(tmp_path)
    failed = failures(checks, expected)
    wrong = {"not listed": sorted(failed - set(expected)), "listed in vain": sorted(set(expected) - failed)}
    assert failed == set(expected), f"{wrong}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"
    passed = sum(statuses == ["SUCCESS"] for made in checks.values() for statuses in made.values())
    assert passed >= least, f"only {passed} checks were made: {done.stdout[-3000:]}"
