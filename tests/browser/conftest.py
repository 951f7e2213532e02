"""An engine with its page, on a port of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamplighter.testing.engine import Engine, engine


@pytest.fixture
def served() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made
