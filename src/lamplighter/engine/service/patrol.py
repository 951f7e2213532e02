"""The round: every so often each session is looked at, and what passes a limit is warned, then asked, then ended.

Without limits it only looks, so that a verdict rests on more than one moment. Knows limits and verdicts; the ending is `stop`'s.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace

from lamplighter.domain.ending import StopSteps
from lamplighter.domain.limits import breach_words
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.session import Kind, Session
from lamplighter.domain.states import Running
from lamplighter.domain.verdict import Verdict
from lamplighter.engine.agents_io.usage import Usage
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.logical.logical_sessions import LogicalSessions
from lamplighter.engine.observe.assessor import Assessment, Assessor
from lamplighter.engine.observe.process_sampler import weigh
from lamplighter.errors import LampError, UnavailableError
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import sessions

log = logging.getLogger(__name__)
PATROL = Caller(Rank.OPERATOR, "patrol")
_SAVE_SECONDS = 60.0
_SHARE = 0.005
_SLOWEST = 6  # times as long as set
_MEMORY_SECONDS = 1.0
_MEMORY_SHARE = 0.02
_MEMORY_WARNING = 10.0


@dataclass(frozen=True)
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
        self,
        registry: SessionRegistry,
        assessor: Assessor,
        ender: Ender,
        logical_sessions: LogicalSessions,
        usage: Usage,
        tasks: Tasks,
    ) -> None:
        self.registry = registry
        self.assessor = assessor
        self.ender = ender
        self.logical_sessions = logical_sessions
        self.usage = usage
        self.tasks = tasks
        self._saved_at = float("-inf")
        self._cost = 0.0

    async def restore(self) -> None:
        """What an earlier daemon of this boot had seen."""
        text = await self.registry.store.get(sessions.tracks)
        if text is not None:
            self.assessor.tracks.restore(json.loads(text), self.registry.boot)

    async def walk(self) -> None:
        """For as long as the daemon runs; nothing to do while there are no sessions."""
        while True:
            while not self.registry.live_sessions:
                await self.registry.news.wait()
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
        usual = self.registry.settings.patrol
        pause = max(usual, min(_SLOWEST * usual, cost / _SHARE))
        limited = any(live.session.limits.memory for live in self.registry.live_sessions.values())
        return min(pause, max(_MEMORY_SECONDS, cost / _MEMORY_SHARE)) if limited else pause

    async def round(self) -> None:
        began = time.process_time()  # also of what the daemon does beside it: a busy one is looked at less often
        await self._go_round()
        self._cost = time.process_time() - began

    async def _go_round(self) -> None:
        await self.logical_sessions.expire()
        living = [
            live.session for live in self.registry.live_sessions.values() if isinstance(live.session.state, Running)
        ]
        found = await self.assessor.assess(living, 0.0)
        await self.assessor.listen(living)
        for one in found:
            await self._check(one)
        await self.usage.round(living)
        await self._save()

    async def _save(self) -> None:
        now = self.registry.clock.monotonic()
        if now - self._saved_at >= _SAVE_SECONDS:
            self._saved_at = now
            text = json.dumps(self.assessor.tracks.document(self.registry.boot, now))
            await self.registry.store.write(lambda db: sessions.keep_tracks(db, text))

    # -- limits

    async def check(self, sessions: list[Session]) -> None:
        """These alone, now."""
        for one in await self.assessor.assess(sessions, 0.0):
            await self._check(one)

    async def _check(self, found: Assessment) -> None:
        track = self.assessor.tracks.tracks.get(found.session.id)
        live = self.registry.live_sessions.get(found.session.id)
        if track is None or live is None or not isinstance(live.session.state, Running):
            return
        # Protected or attached to since the look: that counts.
        found = replace(found, session=live.session, attached=self.registry.attached(found.session.id))
        now = self.registry.clock.monotonic()
        track.gone_since = (track.gone_since or now) if found.verdict is Verdict.ORPHANED else None
        passed = list(self._breaches(found, now - (track.gone_since or now)))
        if not found.session.protected and (heavy := await self._memory_breach(found)) is not None:
            passed.insert(0, heavy)
        breaches = {breach.limit: breach for breach in passed}
        if passed and is_in_foreground(live):
            self.tasks.begin(self._end(found, passed[0], ask=False), f"limit of {found.session.id}")
            return
        for limit in [limit for limit in track.warned if limit not in breaches]:
            del track.warned[limit]
            await self.registry.note(found.session.id, PATROL, "warning withdrawn", limit=limit)
        for limit, breach in breaches.items():
            if limit not in track.warned:
                track.warned[limit] = (now, breach.reason)
                await self.registry.note(found.session.id, PATROL, "warning", limit=limit, reason=breach.reason)
            if now - track.warned[limit][0] >= self._warning(breach):
                self.tasks.begin(self._end(found, breach), f"limit of {found.session.id}")
                return

    def _warning(self, breach: Breach) -> float:
        """For how long it is warned before it is ended: never for longer than the limit itself."""
        most = _MEMORY_WARNING if breach.limit == "memory" else breach.allowed
        return min(self.registry.settings.warning, most)

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
        age = self.assessor.age_of(session)
        if limits.age is not None and age > limits.age:
            yield Breach("age", limits.age, age)
        if limits.idle is not None and found.quiet_for > limits.idle:
            yield Breach("idle", limits.idle, found.quiet_for)
        grace = self.registry.settings.orphan_grace
        ownerless = found.verdict is Verdict.ORPHANED and session.kind not in (Kind.MAIN, Kind.SYSTEM)
        if grace is not None and ownerless and orphaned_for >= grace:
            yield Breach("orphan", grace, orphaned_for)

    async def _end(self, found: Assessment, breach: Breach, *, ask: bool = True) -> None:
        """Politely: asked first, as by lamp end. In the foreground at once, as whoever waits expects of a timeout."""
        session, settings = found.session, self.registry.settings
        key = f"patrol:{session.id}:{breach.limit}"
        try:
            await self.ender.end(session, PATROL, breach.reason, StopSteps(ask=ask, grace=settings.grace), key=key)
        except LampError as error:
            log.error("%s passed its %s limit and could not be ended: %s", session.id, breach.limit, error)


def is_in_foreground(live: LiveSession) -> bool:
    """Its client waits for it: what it ran into is told there, and needs no warning before."""
    return live.session.bound and isinstance(live.session.state, Running) and live.phase == "running"
