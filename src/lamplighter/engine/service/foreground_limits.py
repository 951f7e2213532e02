"""The limits of what runs in the foreground: somebody waits for it, so they are kept to the second, and nobody is warned first.

Knows when each has to be looked at; what a limit means, and how a session is ended for it, is the patrol's to know.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.service.patrol import Patrol, is_in_foreground
from lamplighter.errors import UnavailableError

log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_SOON_SECONDS = 0.02


class ForegroundLimits:
    def __init__(self, registry: SessionRegistry, patrol: Patrol) -> None:
        self.registry = registry
        self.patrol = patrol

    async def walk(self) -> None:
        """For as long as the daemon runs; nothing to do while nothing in the foreground has a limit."""
        while True:
            news = self.registry.news
            limited = [live.session for live in self.registry.live_sessions.values() if is_in_foreground(live)]
            limited = [session for session in limited if session.limits.document()]
            pause = min(map(self._pause, limited), default=None)
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
            due = [session for session in limited if self._is_due(session)]
            if due:
                await self._look(due)

    async def _look(self, due: list[Session]) -> None:
        try:
            await self.patrol.check(due)
        except UnavailableError as error:
            log.error("a limit could not be kept: %s", error)
        except Exception:  # a fault at one must not take the limits of all the others away
            log.exception("a look at what runs in the foreground failed")

    def _pause(self, session: Session) -> float:
        """How long nothing of it can pass a limit; a second where that is not known."""
        left = self._left(session)
        if left is None or left <= 0:
            return _LOOK_SECONDS
        return min(left + _SOON_SECONDS, _LOOK_SECONDS if self._is_watched(session) else left + _SOON_SECONDS)

    def _is_due(self, session: Session) -> bool:
        left = self._left(session)
        return self._is_watched(session) or (left is not None and left <= 0)

    def _left(self, session: Session) -> float | None:
        """Until it is too old."""
        age = session.limits.age
        return None if age is None else age - self.patrol.assessor.age_of(session)

    def _is_watched(self, session: Session) -> bool:
        return session.limits.idle is not None or session.limits.memory is not None
