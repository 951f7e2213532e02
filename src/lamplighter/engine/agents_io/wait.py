"""Waiting for a session to be idle, to ask a person, to end, to print a text, or to answer. Changes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from lamplighter.domain.condition import ENDED, IDLE, REPLY, TEXT, WAITING, has_failed
from lamplighter.domain.duration import format_duration
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded
from lamplighter.domain.verdict import Verdict
from lamplighter.engine.agents_io.replies import Replies
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.base import Reply, ended_first
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.observe.assessor import Assessor
from lamplighter.errors import Code, DeadlineError, Hint, LampError, Use

T = TypeVar("T")
_SAMPLE_SECONDS = 0.5
_NAMED = 5
_GOES_ON = Hint("it goes on; wait longer, or look at it with ", Use("read"))


class SessionWait:
    def __init__(self, registry: SessionRegistry, backends: Backends, assessor: Assessor, replies: Replies) -> None:
        self.registry = registry
        self.backends = backends
        self.assessor = assessor
        self.replies = replies

    async def wait_for_all(
        self,
        chosen: list[Session],
        conditions: Sequence[str],
        timeout: float | None,
        since: int | None,
        quiet: float,
        *,
        first: bool = False,
    ) -> list[dict[str, Any]]:
        """Until each has come to one of these, in the order given: the first that never can ends the wait. With `first` until any
        one of them has, and what never can is left to the others. The timeout says which have come by then."""
        waits = [asyncio.ensure_future(self.wait_for_one(session, conditions, since, quiet)) for session in chosen]
        try:
            async with asyncio.timeout(timeout):
                if first:
                    return [waits[await _first_true(waits, [""] * len(waits))].result()]
                return list(await asyncio.gather(*waits))
        except TimeoutError:
            late = [session for session, wait in zip(chosen, waits, strict=True) if not _came(wait)]
            came = [wait.result() for wait in waits if _came(wait)] if late else []
            raise _too_late(late or chosen, came, conditions, timeout or 0.0) from None
        finally:
            await _drop(waits)

    async def wait_for_one(
        self, session: Session, conditions: Sequence[str], since: int | None, quiet: float
    ) -> dict[str, Any]:
        """Until the first of these comes. What can never come any more is left to the others; its error counts with the last."""
        waits = [asyncio.ensure_future(self._come(session, one, since, quiet)) for one in conditions]
        try:
            first = await _first_true(waits, conditions)
        finally:
            await _drop(waits)
        return await self._told(session, conditions[first], waits[first].result())

    async def _told(self, session: Session, met: str, came: tuple[int, Reply | None]) -> dict[str, Any]:
        cursor, reply = came
        now = await self.registry.now(session)
        exit = now.state.ending.exit if isinstance(now.state, HasEnded) else None
        return {
            **(reply._asdict() if reply else {}),
            "id": now.id,
            "name": now.name,
            "state": now.state.word,
            "met": met,
            "cursor": cursor,
            "exit": exit.document() if exit else None,
            "failed": _failed(now, met, reply),
            "asks": await self._question(now) if met in (IDLE, WAITING) else None,
        }

    async def _question(self, session: Session) -> str | None:
        """What it asks a person, where that is what it is at: as listings say it."""
        if session.id not in self.registry.live_sessions:
            return None
        found = await self.assessor.assess_one(session)
        return found.evidence[0] if found.verdict is Verdict.WAITING else None

    async def _come(
        self, session: Session, condition: str, since: int | None, quiet: float
    ) -> tuple[int, Reply | None]:
        if condition == REPLY:
            reply = await self._until_reply(session, quiet)
            return self._offset(session), reply
        return await self._condition(session, condition, since, quiet), None

    def _condition(self, session: Session, until: str, since: int | None, quiet: float) -> Any:
        if until == ENDED:
            return self._until_ended(session)
        if until == IDLE:
            return self._until_idle(session, quiet)
        if until == WAITING:
            return self._until_waiting(session)
        text = until.removeprefix(TEXT)
        return self.backends.of(session).until_text(session, text, since)

    async def _until_reply(self, session: Session, quiet: float) -> Reply:
        return await self.replies.wait(session, quiet)

    async def _until_ended(self, session: Session) -> int:
        live = self.registry.live_sessions.get(session.id)
        if live is not None:
            await live.ended.wait()
        return self._offset(session)

    async def _until_idle(self, session: Session, quiet: float) -> int:
        """Quiet for long enough, at no work of its own, and not waiting for what it started."""
        while True:
            live = self._living(session, "idle")
            left = quiet - self.assessor.silent_for(session)
            if left > 0:
                await _either(live, left)
            elif await self.assessor.is_at_rest(session, quiet) and not live.ended.is_set():
                return self._offset(session)
            else:
                await _either(live, _SAMPLE_SECONDS)

    async def _until_waiting(self, session: Session) -> int:
        """Until it asks a person for something, by the verdict that listings show."""
        self.backends.of(session).check_visible(session)
        while True:
            live = self._living(session, "waiting for anybody")
            (found,) = await self.assessor.decide([live.session])
            if found.verdict is Verdict.WAITING:
                return self._offset(session)
            await _either(live, _SAMPLE_SECONDS)

    def _living(self, session: Session, what: str) -> LiveSession:
        live = self.registry.live_sessions.get(session.id)
        if live is None or live.ended.is_set():
            raise ended_first(session, f"was {what}")
        return live

    def _offset(self, session: Session) -> int:
        reading = self.registry.reading(session.id)
        return reading.offset if reading else 0


def _came(wait: asyncio.Future[Any]) -> bool:
    return wait.done() and not wait.cancelled() and wait.exception() is None


def _failed(session: Session, met: str, reply: Reply | None) -> bool:
    if met == ENDED:
        ending = session.state.ending if isinstance(session.state, HasEnded) else None
        return ending is not None and has_failed(ending.exit, ending.how)
    return reply is not None and reply.turn != "done"


async def _first_true(waits: Sequence[asyncio.Future[T]], conditions: Sequence[str]) -> int:
    """Which of them comes true first; one that has failed, when none can. An end is the last thing that happens: what else is
    true of it was so before, and is soon known."""
    left = set(waits)
    while True:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        if left and any(conditions[waits.index(wait)] == ENDED and _came(wait) for wait in done):
            await asyncio.wait(left)
        true = [number for number, wait in enumerate(waits) if _came(wait)]
        if true:
            return min(true, key=lambda number: conditions[number] == ENDED)
        for wait in done:
            if not left or not _is_over(wait.exception()):
                return waits.index(wait)


def _is_over(error: BaseException | None) -> bool:
    return isinstance(error, LampError) and error.code is Code.ENDED


async def _drop(waits: Iterable[asyncio.Future[Any]]) -> None:
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


def _too_late(
    late: list[Session], came: list[dict[str, Any]], conditions: Sequence[str], seconds: float
) -> DeadlineError:
    until, of = " or ".join(conditions), len(late) + len(came)
    named = ", ".join(f"{session.name} ({session.id})" for session in late[:_NAMED])
    more = f" and {len(late) - _NAMED} more" if len(late) > _NAMED else ""
    many = f", {len(late)} of {of}" if of > 1 else ""
    return DeadlineError(
        Code.TIMEOUT,
        f"{named}{more}{many}: not {until[:60]} within {format_duration(seconds)}",
        Hint("they go on; wait longer, or look at them with ", Use("read")) if of > 1 else _GOES_ON,
        until=until[:200],
        late=[{"id": session.id, "name": session.name, "state": session.state.word} for session in late],
        came=came,
    )


async def _either(live: LiveSession, seconds: float) -> None:
    """A while, or until it has ended."""
    deadline = time.monotonic() + seconds
    while not live.ended.is_set() and (left := deadline - time.monotonic()) > 0:
        try:
            await asyncio.wait_for(live.ended.wait(), left)
        except TimeoutError:
            return
