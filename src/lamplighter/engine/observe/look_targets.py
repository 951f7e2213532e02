"""Of which sessions a look must find out what they wait for: that costs more than to measure them.

Knows what was seen of each, and who is to be judged just now; looks at nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from lamplighter.domain.session import Session
from lamplighter.domain.verdict import QUESTION_SECONDS, Thresholds
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.observe.activity import Activity
from lamplighter.engine.observe.process_sampler import Interest, Measure
from lamplighter.engine.observe.screens import Screens


class LookTargets:
    def __init__(self, registry: SessionRegistry, screens: Screens) -> None:
        self.registry = registry
        self.screens = screens
        self.tracks = Activity()
        settings = registry.settings
        self.thresholds = Thresholds(settings.quiet, settings.stall, settings.spin)
        self._pressing: Counter[str] = Counter()

    @contextmanager
    def pressing(self, sessions: Iterable[str]) -> Generator[None]:
        """Meanwhile somebody wants to act on these."""
        names = set(sessions)
        self._pressing.update(names)
        try:
            yield
        finally:
            self._pressing.subtract(names)
            self._pressing = +self._pressing

    def is_pressing(self, session: str) -> bool:
        return self._pressing[session] > 0

    def of(self, live: LiveSession, last: Measure | None) -> Interest:
        """What it waits for matters once it is quiet, and is known until something moves; or when somebody wants to act. `last`
        is what the last look measured."""
        if self.is_pressing(live.session.id):
            return Interest.NOW
        now, meter = self.registry.clock.monotonic(), self.registry.reading(live.session.id)
        track = self.tracks.tracks.get(live.session.id)
        quiet = self.thresholds.quiet
        if self.ends_with_question(live.session):
            quiet = QUESTION_SECONDS
        elif self.screens.signs(live.session) is not None:
            quiet = min(quiet, self.thresholds.settle)
        if meter is not None and (now - meter.heard < quiet or now - meter.typed < quiet):
            spins = track is not None and now - track.novel_at > self.thresholds.spin / 2
            return Interest.NOW if spins else Interest.NONE
        known = track is not None and track.is_front_known(now, last, meter)
        return Interest.MOVED if known else Interest.NOW

    def ends_with_question(self, session: Session) -> bool:
        track, meter = self.tracks.tracks.get(session.id), self.registry.reading(session.id)
        if track is None or meter is None or track.tail is None:
            return False
        return track.tail_offset == meter.offset and track.tail.asks
