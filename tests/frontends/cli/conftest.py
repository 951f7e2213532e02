"""A person who types `lamp` at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from tests.support.engine import Engine
from tests.support.person import Person

LAMP = [sys.executable, "-m", "lamplighter.frontends.cli.main"]


@pytest.fixture
def person(lit: Engine) -> Iterator[Callable[..., Person]]:
    """Makes a person who types `lamp` and these words."""
    people: list[Person] = []

    def make(*arguments: str, **options: int) -> Person:
        people.append(Person([*LAMP, *arguments], lit.environment, **options))
        return people[-1]

    yield make
    for one in people:
        one.close()
