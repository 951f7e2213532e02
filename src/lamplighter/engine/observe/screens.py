"""What the screens of agents say, looked at when somebody needs to know. Knows screens and signs; judges and types nothing."""

from __future__ import annotations

import asyncio
import os
from typing import NamedTuple

from lamplighter.agents import agent_named, recognise
from lamplighter.agents.formats.screen_patterns import ScreenPatterns
from lamplighter.agents.formats.version import is_newer, version_of
from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.session import Session
from lamplighter.engine.backends import Backends
from lamplighter.holder import proc

_PASTES = 2004
_LAST = 12


class ScreenText(NamedTuple):
    """`offset`: how much of its output the screen stands for. `pastes`: it knows a paste from keys, as every agent does whose
    screen is known. Each is None where nobody can say. `text`: all that is on it."""

    told: ScreenReading | None
    offset: int | None
    pastes: bool | None
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
        return self.told is not None and self.told.takes and self.pastes is not False

    @property
    def line(self) -> str:
        """What is seen in its input line."""
        return self.told.line if self.told else ""

    @property
    def last_lines(self) -> list[str]:
        lines = (line.rstrip() for line in self.text.split("\n"))
        return [line for line in lines if line][-_LAST:]


class Screens:
    def __init__(self, backends: Backends) -> None:
        self.backends = backends

    def signs(self, session: Session) -> ScreenPatterns | None:
        """How its screen is read; None for what is no agent in a terminal, or one whose screens are not known."""
        return agent_named(session.agent).screens if session.has_screen else None

    async def look(self, session: Session) -> ScreenText | None:
        """Its screen, as it is now. None where there is none to be read."""
        signs = self.signs(session)
        if signs is None:
            return None
        shown = await self.backends.of(session).shown(session, _PASTES)
        if shown is None:
            return None
        return ScreenText(signs.read(shown.text, shown.title), shown.offset, shown.pastes, shown.text)

    async def newer(self, session: Session) -> str | None:
        """What to say of an agent whose screens may have changed since they were seen, as it is of a newer version."""
        signs = self.signs(session)
        if signs is None or session.main is None:
            return None
        version = await asyncio.to_thread(_version, session.main.pid)
        if version is None or not is_newer(version, signs.tried):
            return None
        return f"{session.agent} {version} is newer than the newest whose screens are known here ({signs.tried})"


def _version(pid: int) -> str | None:
    words = proc.words_of(pid)
    program = recognise(words)
    try:
        return version_of(program, words, os.readlink(f"/proc/{pid}/exe")) if program else None
    except OSError:  # it has gone, or is not ours to see
        return None
