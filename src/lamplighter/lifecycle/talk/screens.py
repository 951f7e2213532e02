"""What the screens of agents say, looked at when somebody needs to know. Knows screens and signs; judges and types nothing."""

from __future__ import annotations

import asyncio
import os
from typing import NamedTuple

from lamplighter.agents import recognise
from lamplighter.agents.signs import Signs, signs_of
from lamplighter.agents.version import is_newer, version_of
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.sign import Sign, Told
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.lifecycle.talk.foreign_terminals import ForeignTerminals
from lamplighter.lifecycle.talk.reading import Reading

_ON_TERMINALS = frozenset({Driver.TERMINAL, Driver.TMUX})
_PASTES = 2004
_LAST = 12


class Shown(NamedTuple):
    """`offset`: how much of its output the screen stands for. `pastes`: it knows a paste from keys. `text`: all that is on it."""

    told: Told | None
    offset: int
    pastes: bool
    text: str

    @property
    def blank(self) -> bool:
        """Nothing is on it yet."""
        return not self.text.strip()

    @property
    def asks(self) -> bool:
        return self.told is not None and self.told.sign is Sign.WAITING

    @property
    def takes(self) -> bool:
        """A text that is pasted now is its next request, for certain."""
        return self.told is not None and self.told.takes and self.pastes

    @property
    def line(self) -> str:
        """What is seen in its input line."""
        return self.told.line if self.told else ""

    @property
    def last_lines(self) -> list[str]:
        lines = (line.rstrip() for line in self.text.split("\n"))
        return [line for line in lines if line][-_LAST:]


class Screens:
    def __init__(self, reading: Reading, foreign: ForeignTerminals) -> None:
        self.reading = reading
        self.foreign = foreign

    def signs(self, session: Session) -> Signs | None:
        """How its screen is read; None for what is no agent in a terminal, or one whose screens are not known."""
        return signs_of(session.agent) if session.driver in _ON_TERMINALS else None

    async def look(self, session: Session) -> Shown | None:
        """Its screen, as it is now. None where there is none to be read."""
        signs = self.signs(session)
        if signs is None:
            return None
        if session.traced:
            return await self._look_at_tmux(session, signs)
        shown = await self.reading.screen(session, "screen", None, modes=(_PASTES,))
        told = signs.read(shown["text"], shown["title"])
        return Shown(told, shown["cursor"], shown["modes"][_PASTES], shown["text"])

    async def newer(self, session: Session) -> str | None:
        """What to say of an agent whose screens may have changed since they were seen, as it is of a newer version."""
        signs = self.signs(session)
        if signs is None or session.main is None:
            return None
        version = await asyncio.to_thread(_version, session.main.pid)
        if version is None or not is_newer(version, signs.tried):
            return None
        return f"{session.agent} {version} is newer than the newest whose screens are known here ({signs.tried})"

    async def _look_at_tmux(self, session: Session, signs: Signs) -> Shown | None:
        """tmux does not say whether a pane knows a paste; an agent whose screen is known does."""
        if "tmux" not in session.facts:
            return None
        try:
            shown = await self.foreign.screen(session, "screen", None, follow=False)
        except LampError:
            return None
        told = signs.read(shown["text"], shown["title"])
        return Shown(told, 0, told is not None, shown["text"])


def _version(pid: int) -> str | None:
    words = proc.words_of(pid)
    program = recognise(words)
    try:
        return version_of(program, words, os.readlink(f"/proc/{pid}/exe")) if program else None
    except OSError:  # it has gone, or is not ours to see
        return None
