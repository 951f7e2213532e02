"""An engine with its HTTP door open, on a port of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamplighter.testing.clockwork import FOLDER, Clockwork
from lamplighter.testing.engine import Engine, engine


@pytest.fixture
def served() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


@pytest.fixture
def served_by_the_clock() -> Iterator[tuple[Engine, Clockwork]]:
    """One whose daemon goes by a clock that the test moves."""
    with engine(LAMPLIGHTER_HTTP_PORT="0", PYTHONPATH=FOLDER) as made:
        yield made, Clockwork(made.folder)
