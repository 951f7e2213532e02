"""The last account of a session: its summary, and the hand-off that is inferred when nobody wrote one.

Everything is gathered before the transaction that ends the session and written in it, so that no session ends without. What
cannot be had (a repository that hangs, a log that is gone) is left out; it never keeps an end from being recorded.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lamplighter.domain.ending import Ending
from lamplighter.domain.handoff import Draft, Handoff
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.record import Source
from lamplighter.domain.session import Driver, Session
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.handing import Handing, Prepared
from lamplighter.lifecycle.reading import Reading
from lamplighter.store import handoffs

T = TypeVar("T")
log = logging.getLogger(__name__)
_LAST_LINES = 15
_SECONDS = 5.0


@dataclass(frozen=True)
class Parting:
    """What is written with a session's end."""

    handing: Handing
    summary: dict[str, Any]
    inferred: Prepared | None

    def write(self, db: sqlite3.Connection) -> None:
        if self.inferred is not None:
            self.handing.write(db, self.inferred)


class Farewell:
    def __init__(self, fleet: Fleet, reading: Reading) -> None:
        self.fleet = fleet
        self.reading = reading
        self.handing = Handing(fleet)

    async def prepare(self, session: Session, ending: Ending, printed: int, usage: Mapping[str, Any]) -> Parting:
        """Before the end is recorded."""
        given = await self._given(session)
        lines = await self._patiently(self._last_lines(session), session, [])
        summary = self._summary(session, ending.at, ending, lines, given, usage)
        told = any(handoff.ending and handoff.records for handoff in given)
        return Parting(self.handing, summary, None if told else await self._infer(session, ending, lines))

    async def provisional(self, session: Session) -> dict[str, Any]:
        """So far, for one that ends itself and will not be there to hear the rest."""
        given = await self._given(session)
        return self._summary(session, self.fleet.clock.now(), None, [], given, {})

    async def _given(self, session: Session) -> list[Handoff]:
        return await self.fleet.store.get(lambda db: handoffs.of_session(db, session.id))

    async def _infer(self, session: Session, ending: Ending, lines: list[str]) -> Prepared:
        draft = Draft(notes=(f"{session.name} ended: {ending.how.value} by {ending.by}",), reason=ending.reason)
        return await self.handing.prepare(
            draft, session, session.project_id, DAEMON, Source.INFERRED, ending=True, basis=("exit status",)
        )

    def _summary(
        self,
        session: Session,
        at: float,
        ending: Ending | None,
        lines: list[str],
        given: list[Handoff],
        usage: Mapping[str, Any],
    ) -> dict[str, Any]:
        return {"seconds": round(at - (session.started_at or session.created_at), 3), "last_lines": lines}

    async def _last_lines(self, session: Session) -> list[str]:
        """What its screen shows; of one without a terminal, the end of what it printed."""
        if session.traced or session.logical:
            return []
        if session.driver is Driver.HEADLESS:
            text = (await self.reading.output(session, _LAST_LINES, None, 1 << 16))["text"]
        else:
            text = (await self.reading.screen(session, "screen", None))["text"]
        return [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]

    async def _patiently(self, work: Awaitable[T], session: Session, otherwise: T) -> T:
        """What takes too long or fails is left out, and the log says so: an end is recorded in any case."""
        try:
            return await asyncio.wait_for(work, _SECONDS)
        except Exception:
            log.exception("%s: a part of its last account is left out", session.id)
            return otherwise
