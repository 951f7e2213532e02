"""What every test has: an engine of its own, and a check that nothing of it is left."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["lamplighter.testing.fixtures", "lamplighter.testing.browser"]

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("lamplighter", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lamplighter")
