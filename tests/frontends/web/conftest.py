"""One engine for a whole module of the page's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine, engine


@pytest.fixture(scope="module")
def house() -> Iterator[Engine]:
    """One for all cases of a module: what a case starts has a name of its own, or is ended by it."""
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made
