"""What is in a plan, and what takes it out again, by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lamplighter.domain.permission import OPERATOR
from lamplighter.domain.plan import PlanRequest, Sighting, changed, unwanted
from lamplighter.domain.verdict import Verdict

HUNG = Sighting(
    "hung", Verdict.WORKING, ["waits for sleep"], 1, 0, 3600.0, active=True, attached=0, output=1, input=1.0
)
PLAIN = PlanRequest(OPERATOR, "*", 5.0)
AGED = replace(PLAIN, older_than=1800.0)
FORCED = replace(PLAIN, force=True)


def test_an_age_takes_what_sleeps_or_waits_as_force_does() -> None:
    for verdict in (Verdict.WORKING, Verdict.WAITING):
        one = replace(HUNG, verdict=verdict)
        assert unwanted(one, PLAIN) == f"it is active: {verdict}; force takes it too"
        assert unwanted(one, replace(PLAIN, older_than=0.0)) is not None, "no age is none"
        assert unwanted(one, AGED) is None
        assert unwanted(one, FORCED) is None
        assert unwanted(replace(one, quiet_for=60.0), AGED) == "it was quiet for 1m00s only"
        assert unwanted(replace(one, quiet_for=60.0), replace(AGED, force=True)) == "it was quiet for 1m00s only"


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        (HUNG, HUNG, None),
        (HUNG, replace(HUNG, verdict=Verdict.STUCK, active=False), None),  # it may stall meanwhile
        (HUNG, replace(HUNG, output=2), None),  # a spinner prints, and nothing new
        (HUNG, replace(HUNG, quiet_for=5.0), "it was quiet for 5s only"),
        (HUNG, replace(HUNG, input=2.0), "it got input since the plan was made"),
        (replace(HUNG, verdict=Verdict.ORPHANED, active=False), HUNG, "it became active: working"),
    ],
)
def test_what_was_taken_for_its_age_must_be_as_quiet_still(before: Sighting, now: Sighting, why: str | None) -> None:
    assert changed(before, now, AGED) == why
    assert changed(before, now, FORCED) is None
