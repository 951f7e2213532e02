"""What every test has: an engine of its own, and a check that nothing of it is left."""

from __future__ import annotations

pytest_plugins = ["lamplighter.testing.fixtures", "lamplighter.testing.browser"]
