"""Waiting for a session to be idle, to end, or to print a text. Changes nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.session import Session
from lamplighter.domain.verdict import BUSY_CPU
from lamplighter.errors import Code, ConflictError, DeadlineError, InputError
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.gauge import Gauge
from lamplighter.lifecycle.reading import Reading
from lamplighter.lifecycle.speech import first_of

_SAMPLE_SECONDS = 0.5
_PAGE = 1 << 20


class Waiting:
    def __init__(self, fleet: Fleet, reading: Reading, gauge: Gauge) -> None:
        self.fleet = fleet
        self.reading = reading
        self.gauge = gauge

    async def wait(
        self, session: Session, until: str, timeout: float | None, since: int | None, quiet: float
    ) -> dict[str, Any]:
        condition = self._condition(session, until, since, quiet)
        try:
            async with asyncio.timeout(timeout):
                cursor = await condition
        except TimeoutError:
            raise DeadlineError(
                Code.TIMEOUT,
                f"{session.name} ({session.id}): not {until[:60]} within {format_duration(timeout or 0)}",
                "it goes on; wait longer, or look at it with lamp read",
                until=until[:200],
            ) from None
        now = await self.fleet.now(session)
        return {
            "id": now.id,
            "name": now.name,
            "state": now.state.value,
            "met": until,
            "cursor": cursor,
            "exit": now.exit.document() if now.exit else None,
        }

    def _condition(self, session: Session, until: str, since: int | None, quiet: float) -> Any:
        if until == "ended":
            return self._until_ended(session)
        if until == "idle":
            return self._until_idle(session, quiet)
        text = until.removeprefix("text=")
        if text == until or not text:
            raise InputError(
                Code.BAD_INPUT,
                f"nothing can be waited for that is called {until[:40]!a}",
                "wait for idle, ended or text=…",
            )
        if session.traced:
            raise ConflictError(
                Code.NOT_ATTACHABLE,
                f"{session.name} ({session.id}) was adopted: there is no log of its output to find a text in",
                "look at its screen with lamp read, or wait for idle or ended",
            )
        return self._until_text(session, text.encode(errors="surrogateescape"), since)

    async def _until_ended(self, session: Session) -> int:
        lamp = self.fleet.lamps.get(session.id)
        if lamp is not None:
            await lamp.ended.wait()
        return self._offset(session)

    async def _until_idle(self, session: Session, quiet: float) -> int:
        """Quiet for long enough, and no CPU used over a short look."""
        while True:
            lamp = self._living(session, "idle")
            left = quiet - self._quiet_for(lamp)
            if left > 0:
                await _either(lamp, left)
                continue
            before = (await self.gauge.measures(0.0)).get(session.id)
            await _either(lamp, _SAMPLE_SECONDS)
            after = (await self.gauge.measures(0.0)).get(session.id)
            calm = before is not None and after is not None and (after.rate or 0.0) < BUSY_CPU
            if calm and self._quiet_for(lamp) >= quiet and not lamp.ended.is_set():
                return self._offset(session)

    async def _until_text(self, session: Session, text: bytes, since: int | None) -> int:
        """In the output since the last input that was sent, unless a cursor is given: so no answer is missed or taken twice."""
        lamp = self.fleet.lamps.get(session.id)
        if since is None:
            known = lamp.last_sent if lamp else None
            since = known if known is not None else await self.reading.last_input(session)
        cursor, kept = since, b""
        while True:
            pulse, changed = (lamp.output, lamp.changed) if lamp else (asyncio.Event(), asyncio.Event())
            ended = lamp is None or lamp.ended.is_set()
            data, following = await self.reading.raw(session, cursor, _PAGE)
            found = (kept + data).find(text)
            if found >= 0:
                return following - len(kept + data) + found + len(text)
            kept = (kept + data)[-(len(text) - 1) :] if len(text) > 1 else b""
            if following == cursor:
                if ended or lamp is None:
                    raise self._ended_first(session, "printed that")
                if lamp.line is not None:
                    lamp.line.tell("arm", cursor=cursor)
                await first_of(pulse, changed, lamp.ended)
            cursor = following

    def _living(self, session: Session, what: str) -> Lamp:
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None or lamp.ended.is_set():
            raise self._ended_first(session, f"was {what}")
        return lamp

    def _ended_first(self, session: Session, what: str) -> ConflictError:
        return ConflictError(
            Code.ENDED,
            f"{session.name} ({session.id}) ended before it {what}",
            "lamp read and lamp show say what it did",
        )

    def _quiet_for(self, lamp: Lamp) -> float:
        reading = self.fleet.reading(lamp.session.id)
        last = max(reading.last_output, reading.last_input) if reading else 0.0
        return self.fleet.clock.now() - max(last, lamp.session.started_at or 0.0)

    def _offset(self, session: Session) -> int:
        reading = self.fleet.reading(session.id)
        return reading.offset if reading else 0


async def _either(lamp: Lamp, seconds: float) -> None:
    """A while, or until it has ended."""
    deadline = time.monotonic() + seconds
    while not lamp.ended.is_set() and (left := deadline - time.monotonic()) > 0:
        try:
            await asyncio.wait_for(lamp.ended.wait(), left)
        except TimeoutError:
            return
