"""What every test has: an engine of its own, and a check that nothing of it is left."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures", "tests.support.browser"]

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("lamplighter", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# ./test tries the same few examples each time; new ones, and more, come with the seeds of make test-deep.
settings.register_profile("same", settings.get_profile("lamplighter"), derandomize=True, max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    seeded = os.environ.get("LAMPLIGHTER_TEST_SEED") or config.getoption("--hypothesis-seed", None)
    settings.load_profile("lamplighter" if seeded else "same")
