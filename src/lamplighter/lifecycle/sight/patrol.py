"""The round: every so often each session is looked at, and what passes a limit is warned, then asked, then ended.

Without limits it only looks, so that a verdict rests on more than one moment. Knows limits and verdicts; the ending is `stop`'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from lamplighter.domain.limits import breach_words
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.session import Kind, Session
from lamplighter.domain.states import State
from lamplighter.domain.verdict import Verdict
from lamplighter.errors import LampError, UnavailableError
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.logical import Logical
from lamplighter.lifecycle.sight.gauge import weigh
from lamplighter.lifecycle.sight.judgement import Assessment, Judgement
from lamplighter.lifecycle.stop import Undertaker
from lamplighter.lifecycle.tasks import Tasks
from lamplighter.store import sessions

log = logging.getLogger(__name__)
PATROL = Caller(Rank.OPERATOR, "patrol")
_SAVE_SECONDS = 60.0
_SHARE = 0.005
_SLOWEST = 6  # times as long as set
_MEMORY_SECONDS = 1.0
_MEMORY_SHARE = 0.02
_MEMORY_WARNING = 10.0


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that a session has passed, and how far it is past it."""

    limit: str
    allowed: float
    reached: float

    @property
    def reason(self) -> str:
        return breach_words(self.limit, self.allowed, self.reached)


class Patrol:
    def __init__(
        self, fleet: Fleet, judgement: Judgement, undertaker: Undertaker, logical: Logical, tasks: Tasks
    ) -> None:
        self.fleet = fleet
        self.judgement = judgement
        self.undertaker = undertaker
        self.logical = logical
        self.tasks = tasks
        self.listeners: list[Callable[[list[Session]], Awaitable[None]]] = []  # who looks at them too, on each round
        self._saved_at = float("-inf")
        self._cost = 0.0

    async def restore(self) -> None:
        """What an earlier daemon of this boot had seen."""
        text = await self.fleet.store.get(sessions.tracks)
        if text is not None:
            self.judgement.tracks.restore(json.loads(text), self.fleet.boot)

    async def walk(self) -> None:
        """For as long as the daemon runs; nothing to do while there are no sessions."""
        while True:
            while not self.fleet.lamps:
                await self.fleet.news.wait()
            try:
                await self.round()
            except UnavailableError as error:
                log.error("the patrol could not write: %s", error)
            except Exception:  # a fault in one round must not end all the others
                log.exception("a round of the patrol failed")
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        """As often as set; less often where a look at all sessions takes more than its share; more where memory is limited."""
        cost = self._cost
        usual = self.fleet.settings.patrol
        pause = max(usual, min(_SLOWEST * usual, cost / _SHARE))
        limited = any(lamp.session.limits.memory for lamp in self.fleet.lamps.values())
        return min(pause, max(_MEMORY_SECONDS, cost / _MEMORY_SHARE)) if limited else pause

    async def round(self) -> None:
        began = time.process_time()  # also of what the daemon does beside it: a busy one is looked at less often
        await self._go_round()
        self._cost = time.process_time() - began

    async def _go_round(self) -> None:
        await self.logical.expire()
        living = [lamp.session for lamp in self.fleet.lamps.values() if lamp.session.state is State.RUNNING]
        found = await self.judgement.assess(living, 0.0)
        await self.judgement.listen(living)
        for one in found:
            await self._check(one)
        for listener in self.listeners:
            await listener(living)
        await self._save()

    async def _save(self) -> None:
        now = self.fleet.clock.monotonic()
        if now - self._saved_at >= _SAVE_SECONDS:
            self._saved_at = now
            text = json.dumps(self.judgement.tracks.document(self.fleet.boot, now))
            await self.fleet.store.write(lambda db: sessions.keep_tracks(db, text))

    # -- limits

    async def check(self, sessions: list[Session]) -> None:
        """These alone, now."""
        for one in await self.judgement.assess(sessions, 0.0):
            await self._check(one)

    async def _check(self, found: Assessment) -> None:
        track = self.judgement.tracks.tracks.get(found.session.id)
        lamp = self.fleet.lamps.get(found.session.id)
        if track is None or lamp is None or lamp.session.state is not State.RUNNING:
            return
        # Protected or attached to since the look: that counts.
        found = replace(found, session=lamp.session, attached=self.fleet.attached(found.session.id))
        now = self.fleet.clock.monotonic()
        track.gone_since = (track.gone_since or now) if found.verdict is Verdict.ORPHANED else None
        passed = list(self._breaches(found, now - (track.gone_since or now)))
        if not found.session.protected and (heavy := await self._memory_breach(found)) is not None:
            passed.insert(0, heavy)
        breaches = {breach.limit: breach for breach in passed}
        if passed and is_in_foreground(lamp):
            self.tasks.begin(self._end(found, passed[0], ask=False), f"limit of {found.session.id}")
            return
        for limit in [limit for limit in track.warned if limit not in breaches]:
            del track.warned[limit]
            await self.fleet.note(found.session.id, PATROL, "warning withdrawn", limit=limit)
        for limit, breach in breaches.items():
            if limit not in track.warned:
                track.warned[limit] = (now, breach.reason)
                await self.fleet.note(found.session.id, PATROL, "warning", limit=limit, reason=breach.reason)
            if now - track.warned[limit][0] >= self._warning(breach):
                self.tasks.begin(self._end(found, breach), f"limit of {found.session.id}")
                return

    def _warning(self, breach: Breach) -> float:
        """For how long it is warned before it is ended: never for longer than the limit itself."""
        most = _MEMORY_WARNING if breach.limit == "memory" else breach.allowed
        return min(self.fleet.settings.warning, most)

    async def _memory_breach(self, found: Assessment) -> Breach | None:
        """A sum that is too high is looked at more closely: what processes share is there once."""
        allowed = found.session.limits.memory
        if allowed is None or found.measure.memory <= allowed:
            return None
        weight = await asyncio.to_thread(weigh, found.measure.processes)
        return Breach("memory", allowed, weight) if weight > allowed else None

    def _breaches(self, found: Assessment, orphaned_for: float) -> Iterator[Breach]:
        """What it has passed, but for memory. People who are attached, and a protection, hold all of these back; sleeping or
        waiting does not."""
        limits, session = found.session.limits, found.session
        if session.protected or found.attached:
            return
        age = self.judgement.age_of(session)
        if limits.age is not None and age > limits.age:
            yield Breach("age", limits.age, age)
        if limits.idle is not None and found.quiet_for > limits.idle:
            yield Breach("idle", limits.idle, found.quiet_for)
        grace = self.fleet.settings.orphan_grace
        ownerless = found.verdict is Verdict.ORPHANED and session.kind not in (Kind.MAIN, Kind.SYSTEM)
        if grace is not None and ownerless and orphaned_for >= grace:
            yield Breach("orphan", grace, orphaned_for)

    async def _end(self, found: Assessment, breach: Breach, *, ask: bool = True) -> None:
        """Politely: asked first, as by lamp end. In the foreground at once, as whoever waits expects of a timeout."""
        session, settings = found.session, self.fleet.settings
        key = f"patrol:{session.id}:{breach.limit}"
        try:
            await self.undertaker.end(session, PATROL, breach.reason, grace=settings.grace, ask=ask, key=key)
        except LampError as error:
            log.error("%s passed its %s limit and could not be ended: %s", session.id, breach.limit, error)


def is_in_foreground(lamp: Lamp) -> bool:
    """Its client waits for it: what it ran into is told there, and needs no warning before."""
    return lamp.session.bound and lamp.session.state is State.RUNNING and lamp.phase == "running"
