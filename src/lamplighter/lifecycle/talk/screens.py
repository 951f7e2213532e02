"""What the screens of agents say, looked at when somebody needs to know. Knows screens and signs; judges and types nothing."""

from __future__ import annotations

from typing import NamedTuple

from lamplighter.agents.signs import Signs, signs_of
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.sign import Told
from lamplighter.errors import LampError
from lamplighter.lifecycle.talk.foreign_terminals import ForeignTerminals
from lamplighter.lifecycle.talk.reading import Reading

_ON_TERMINALS = frozenset({Driver.TERMINAL, Driver.TMUX})
_PASTES = 2004


class Shown(NamedTuple):
    """`offset`: how much of its output the screen stands for. `pastes`: it knows a paste from keys. `blank`: nothing is on
    it yet."""

    told: Told | None
    offset: int
    pastes: bool
    blank: bool = False


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
        told, blank = signs.read(shown["text"], shown["title"]), not shown["text"].strip()
        return Shown(told, shown["cursor"], shown["modes"][_PASTES], blank)

    async def _look_at_tmux(self, session: Session, signs: Signs) -> Shown | None:
        """tmux does not say whether a pane knows a paste; an agent whose screen is known does."""
        if "tmux" not in session.facts:
            return None
        try:
            shown = await self.foreign.screen(session, "screen", None, follow=False)
        except LampError:
            return None
        told = signs.read(shown["text"], shown["title"])
        return Shown(told, 0, pastes=told is not None)
