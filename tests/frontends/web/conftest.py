"""An engine with its page, shared by the cases of a module: what one starts, it ends or calls by names of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamplighter.testing.engine import Engine, engine


@pytest.fixture(scope="module")
def house() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made
