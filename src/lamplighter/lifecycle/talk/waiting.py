"""Waiting for a session to be idle, to end, to print a text, or to answer. Changes nothing."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.session import Driver, Session
from lamplighter.drivers import registered
from lamplighter.drivers.logical import out_of_reach
from lamplighter.errors import Code, ConflictError, DeadlineError, InputError
from lamplighter.lifecycle.dialogue.replies import Replies, Reply
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.sight.judgement import Judgement
from lamplighter.lifecycle.talk.reading import Reading
from lamplighter.lifecycle.talk.speech import first_of

if TYPE_CHECKING:
    from lamplighter.lifecycle.acp.talks import Talks

_SAMPLE_SECONDS = 0.5
_PAGE = 1 << 20
_NAMED = 5
_GOES_ON = "it goes on; wait longer, or look at it with lamp read"


class Waiting:
    def __init__(self, fleet: Fleet, reading: Reading, judgement: Judgement, replies: Replies) -> None:
        self.fleet = fleet
        self.reading = reading
        self.judgement = judgement
        self.talks: Talks | None = None
        self.replies = replies

    def check(self, until: str) -> None:
        """BAD_INPUT when nothing of that name can be waited for."""
        if until in ("ended", "idle", "reply") or (until.startswith("text=") and until != "text="):
            return
        raise InputError(
            Code.BAD_INPUT,
            f"nothing can be waited for that is called {until[:40]!a}",
            "wait for idle, ended, reply or text=…",
        )

    async def wait_for_all(
        self, chosen: list[Session], until: str, timeout: float | None, since: int | None, quiet: float
    ) -> list[dict[str, Any]]:
        """Until each has come to it, in the order given. The first that never can, or the timeout, ends the wait."""
        waits = [asyncio.ensure_future(self._wait(session, until, since, quiet)) for session in chosen]
        try:
            async with asyncio.timeout(timeout):
                return list(await asyncio.gather(*waits))
        except TimeoutError:
            late = [session for session, wait in zip(chosen, waits, strict=True) if not _came(wait)]
            raise _too_late(late or chosen, len(chosen), until, timeout or 0.0) from None
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _wait(self, session: Session, until: str, since: int | None, quiet: float) -> dict[str, Any]:
        reply = await self._until_reply(session, quiet) if until == "reply" else None
        cursor = await self._condition(session, until, since, quiet) if reply is None else self._offset(session)
        now = await self.fleet.now(session)
        return {
            **(reply._asdict() if reply else {}),
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
        if session.driver is Driver.ACP and self.talks is not None:
            return self.talks.until_text(session, text, since)
        if session.logical:
            raise out_of_reach(f"{session.name} ({session.id})")
        if session.driver is Driver.REGISTERED:
            raise registered.out_of_reach(session)
        if session.traced:
            raise ConflictError(
                Code.NOT_ATTACHABLE,
                f"{session.name} ({session.id}) was adopted: there is no log of its output to find a text in",
                "look at its screen with lamp read, or wait for idle or ended",
            )
        return self._until_text(session, text.encode(errors="surrogateescape"), since)

    async def _until_reply(self, session: Session, quiet: float) -> Reply:
        if session.logical:
            raise out_of_reach(f"{session.name} ({session.id})")
        return await self.replies.wait(session, quiet)

    async def _until_ended(self, session: Session) -> int:
        lamp = self.fleet.lamps.get(session.id)
        if lamp is not None:
            await lamp.ended.wait()
        return self._offset(session)

    async def _until_idle(self, session: Session, quiet: float) -> int:
        """Quiet for long enough, at no work of its own, and not waiting for what it started."""
        while True:
            lamp = self._living(session, "idle")
            left = quiet - self.judgement.silent_for(session)
            if left > 0:
                await _either(lamp, left)
            elif await self.judgement.is_at_rest(session, quiet) and not lamp.ended.is_set():
                return self._offset(session)
            else:
                await _either(lamp, _SAMPLE_SECONDS)

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

    def _offset(self, session: Session) -> int:
        reading = self.fleet.reading(session.id)
        return reading.offset if reading else 0


def _came(wait: asyncio.Future[dict[str, Any]]) -> bool:
    return wait.done() and not wait.cancelled() and wait.exception() is None


def _too_late(late: list[Session], of: int, until: str, seconds: float) -> DeadlineError:
    named = ", ".join(f"{session.name} ({session.id})" for session in late[:_NAMED])
    more = f" and {len(late) - _NAMED} more" if len(late) > _NAMED else ""
    many = f", {len(late)} of {of}" if of > 1 else ""
    return DeadlineError(
        Code.TIMEOUT,
        f"{named}{more}{many}: not {until[:60]} within {format_duration(seconds)}",
        "they go on; wait longer, or look at them with lamp read" if of > 1 else _GOES_ON,
        until=until[:200],
        sessions=[session.id for session in late],
    )


async def _either(lamp: Lamp, seconds: float) -> None:
    """A while, or until it has ended."""
    deadline = time.monotonic() + seconds
    while not lamp.ended.is_set() and (left := deadline - time.monotonic()) > 0:
        try:
            await asyncio.wait_for(lamp.ended.wait(), left)
        except TimeoutError:
            return
