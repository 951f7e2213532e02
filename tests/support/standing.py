"""Engines that the cases of one file use one after another, as most of a short case's time is the start of its engine.

Knows how an engine is handed on: without a session, a process, a file or anything in the store of the case before. Events stay:
`events` are those of the case alone. What a daemon knows without its store (logins, links to the page) stays as well.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from tests.support.engine import Engine

_ALWAYS_NEW = "PYTEST_CURRENT_TEST"


class Standing:
    def __init__(self) -> None:
        self._made: dict[tuple[tuple[str, str], ...], Engine] = {}

    @contextmanager
    def lend(self, **environment: str) -> Generator[Engine]:
        """The one with this environment. It is kept only if the case leaves it as it found it; else it ends with the case, and
        a process that is left is a failure of that case."""
        around = {name: value for name, value in os.environ.items() if name != _ALWAYS_NEW}
        kind = tuple(sorted({**around, **environment}.items()))
        made = self._made.pop(kind, None) or Engine(**environment)
        given, holders = dict(made.environment), made.holders()
        try:
            made.begin()
            yield made
            tidy = made.clear() and made.environment == given and (not holders or made.holders() == holders)
        except BaseException:
            made.close()
            raise
        if tidy:
            self._made[kind] = made
            return
        left = made.close()
        assert not left, f"left behind: {left}"

    def close(self) -> None:
        left = [process for made in self._made.values() for process in made.close()]
        assert not left, f"left behind: {left}"
