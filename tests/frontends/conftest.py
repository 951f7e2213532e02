"""An engine with its HTTP door open, on a port of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine
from tests.support.fixtures import engine_for


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine_for(request, LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


@pytest.fixture
def served_by_the_clock() -> Iterator[tuple[Engine, Clockwork]]:
    """One whose daemon goes by a clock that the test moves."""
    with engine(LAMPLIGHTER_HTTP_PORT="0", PYTHONPATH=FOLDER) as made:
        yield made, Clockwork(made.folder)
