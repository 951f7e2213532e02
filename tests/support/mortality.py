"""A daemon that dies by KILL at a step that the test chooses: before or after a write, a message to a holder, a word to tmux."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.engine import Engine

FOLDER = str(Path(__file__).with_name("mortal"))
"""On a daemon's PYTHONPATH this makes it mortal."""


class Death(NamedTuple):
    """A death that is to come: from `arm` on the daemon's steps are counted."""

    number: int
    file: Path

    def arm(self) -> None:
        self.file.write_text(str(self.number))


def deaths(made: Engine, every: int = 1, least: int = 4, most: int = 100) -> Iterator[Death]:
    """One at each step, one after another, until there is none so late that the daemon lived."""
    file = made.folder / "die-at"
    for number in range(1, most, every):
        yield Death(number, file)
        if file.exists():
            file.unlink()
            assert number > least, "no step was ever reached"
            return
    raise AssertionError("the steps never ended")
