"""What was seen of each session over time: since when it has been busy, still, repeating itself, without its owner.

All times are on the clock that neither jumps nor counts a suspended machine's sleep. Knows measures and meters; judges nothing.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.text.output_tail import Tail, redraws, words_of
from lamplighter.domain.verdict import BUSY_CPU, SPINNING_CPU, Rest
from lamplighter.engine.observe.foreground import ForegroundPrograms
from lamplighter.engine.observe.process_sampler import Measure
from lamplighter.holder.meter import MeterReading
from lamplighter.lazy_dataclass import dataclass

_TRICKLE = 0.0001
_TICKS = 0.05
_VOCABULARY = 1000
_FRONT_SECONDS = 60.0
_SURE_SECONDS = 5.0
_BEHIND_SECONDS = 2.0
_UNHEARD_SECONDS = 1.0
_SIGN_SECONDS = 3.0


@dataclass
class ActivityTrack:
    """One session. What happened before `seen_at` is not known, and nothing is held against the session for it. `heavy_at`: when
    its CPU was last more than drawing takes. `left_at`: since when the client that started it is gone; 0 when it is not."""

    seen_at: float
    looked_at: float
    busy_at: float
    still_since: float
    still_cpu: float = 0.0
    wanting: frozenset[tuple[int, int]] = frozenset()
    heavy_at: float = 0.0
    left_at: float = 0.0
    printed: float = -1.0
    printed_at: float = 0.0
    typed: float = -1.0
    typed_at: float = 0.0
    front: ForegroundPrograms | None = None
    front_of: tuple[float, ...] = ()
    front_at: float = 0.0
    front_since: float = 0.0
    switches: int | None = None
    woke_at: float | None = None
    deep_since: float | None = None
    tail: Tail | None = None
    tail_offset: int = -1
    sign: ScreenReading | None = None
    sign_offset: int = -1
    sign_at: float = 0.0
    blind_at: int = -1
    heard: int = 0
    heard_at: float = 0.0
    novel_at: float = 0.0
    vocabulary: frozenset[str] = frozenset()
    before: Measure | None = None
    behind_rate: float | None = None
    gone_since: float | None = None
    warned: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])

    def see(self, now: float, measure: Measure, reading: MeterReading | None) -> None:
        """Take in one look."""
        self.looked_at = now
        wanting = _wanting(measure, None)
        # One that wants to run at look after look is busy, even if a busy machine gives it next to nothing.
        if (measure.rate is not None and measure.rate >= BUSY_CPU) or not wanting.isdisjoint(self.wanting):
            self.busy_at = now
        self.wanting = wanting
        # Next to nothing over a long while is nothing: a timer that fires, a cursor that blinks.
        # Less than before is no stillness either: something has ended that nobody of it waited for, and took its CPU along.
        spent = measure.cpu - self.still_cpu
        if spent < 0 or spent > _TICKS + _TRICKLE * (now - self.still_since):
            self.still_since, self.still_cpu = now, measure.cpu
        if reading is not None:
            self._see_meter(now, reading)
        self.deep_since = (self.deep_since or now) if measure.deep else None
        if measure.front is not None:
            same = (self.front, self.front_of) == (measure.front, _key(measure, reading))
            self.front_since = self.front_since if same else now
            self.front, self.front_of, self.front_at = measure.front, _key(measure, reading), now
            self._see_sleeper(now, measure.front)
        elif self.front_of != _key(measure, reading):
            self.front = None
        self._see_behind(measure)
        rate, behind = measure.rate or 0.0, self.behind_rate
        if rate >= SPINNING_CPU or (rate if behind is None else behind) >= BUSY_CPU:
            self.heavy_at = now

    def _see_meter(self, now: float, reading: MeterReading) -> None:
        """When it printed and was typed to, as noticed here; before the first look only its shim knows."""
        printed, typed = reading.offset or reading.last_output, reading.typed or reading.last_input
        if printed != self.printed:
            self.printed_at = now if self.printed >= 0 else 0.0 if reading.heard or not printed else self.seen_at
        if typed != self.typed:
            self.typed_at = now if self.typed >= 0 else 0.0 if reading.typed or not typed else self.seen_at
        self.printed, self.typed = printed, typed

    def _see_behind(self, measure: Measure) -> None:
        """The CPU of all but the process in front: what draws a spinner is in front, what works may be behind it. One that wants
        to run at look after look works too, even if a busy machine gives it next to nothing."""
        if self.front is None:
            self.behind_rate = None
        before = self.before
        if before is not None and measure.at - before.at < _BEHIND_SECONDS:
            return
        self.before = measure
        if before is not None and self.front is not None:
            front = self.front.pid
            least = BUSY_CPU if _wanting(before, front) & _wanting(measure, front) else 0.0
            spent = _cpu_behind(measure, front) - _cpu_behind(before, front)
            self.behind_rate = max(least, spent / (measure.at - before.at))

    def _see_sleeper(self, now: float, front: ForegroundPrograms) -> None:
        if front.switches is not None and self.switches is not None and front.switches != self.switches:
            self.woke_at = now
        self.switches = front.switches

    def is_front_known(self, now: float, measure: Measure | None, reading: MeterReading | None) -> bool:
        """It was found the same more than once, a while apart; nothing has moved since, and that is not long ago."""
        return (
            self.front is not None
            and self.front.rest is not Rest.RUNNING
            and measure is not None
            and self.front_at - self.front_since >= _SURE_SECONDS
            and now - self.front_at < _FRONT_SECONDS
            and self.front_of == _key(measure, reading)
        )

    def hear(self, now: float, data: bytes, offset: int) -> None:
        """Take in output: is there a word that was not there before? A log is always new."""
        words = words_of(data)
        if not redraws(data) or not words <= self.vocabulary:
            self.novel_at = now
        self.vocabulary = words if len(self.vocabulary) > _VOCABULARY else self.vocabulary | words
        self.heard, self.heard_at = offset, now

    def repeats_for(self, heard: float) -> float:
        """How long the output has said nothing new, as far as it was taken in; nothing when there is more that was not."""
        return max(0.0, self.heard_at - self.novel_at) if heard - self.heard_at < _UNHEARD_SECONDS else 0.0

    def told(self, now: float, offset: int) -> ScreenReading | None:
        """What its screen says. That it is at its prompt holds for that screen alone; that it works or asks, while it redraws."""
        lasts = self.sign is not None and self.sign.sign is not Sign.PROMPT and now - self.sign_at < _SIGN_SECONDS
        return self.sign if lasts or self.sign_offset == offset else None

    def saved(self) -> list[float]:
        return [self.busy_at, self.still_since, self.still_cpu, self.heavy_at, self.left_at]


def _key(measure: Measure, reading: MeterReading | None) -> tuple[float, ...]:
    return measure.cpu, len(measure.processes), *((reading.offset, reading.typed) if reading else ())


def _cpu_behind(measure: Measure, front: int) -> float:
    return measure.cpu - sum(stat.cpu for stat in measure.processes if stat.pid == front)


def _wanting(measure: Measure, front: int | None) -> frozenset[tuple[int, int]]:
    return frozenset(stat.key for stat in measure.processes if stat.state == "R" and stat.pid != front)


def restored(saved: list[float], now: float, cpu: float) -> ActivityTrack:
    """From what was known; whatever was computed since then, also a little, counts as computed just now: nobody saw when."""
    busy_at, still_since, still_cpu, *later = saved
    heavy_at, left_at = later or (busy_at, 0.0)
    spent = cpu - still_cpu
    if spent < 0 or spent > _TICKS:
        busy_at = heavy_at = now
    return ActivityTrack(
        seen_at=now,
        looked_at=now,
        busy_at=busy_at,
        still_since=still_since,
        still_cpu=still_cpu,
        heavy_at=heavy_at,
        left_at=left_at,
        novel_at=now,
    )


class Activity:
    def __init__(self) -> None:
        self.tracks: dict[str, ActivityTrack] = {}
        self._saved: dict[str, list[float]] = {}
        self._saved_at = 0.0

    def of(self, session: str, now: float, cpu: float, born: float | None) -> ActivityTrack:
        """`born`: when it started, if that was under our eyes."""
        track = self.tracks.get(session)
        if track is None:
            saved = self._saved.pop(session, None)
            if saved is not None and self._saved_at <= now:
                track = restored(saved, now, cpu)
            elif born is not None and born <= now:
                track = restored([born, born, 0.0], now, cpu)
            else:
                track = restored([now, now, cpu], now, cpu)
            self.tracks[session] = track
        return track

    def keep(self, sessions: set[str]) -> None:
        """Forget the others."""
        self.tracks = {name: track for name, track in self.tracks.items() if name in sessions}

    # -- across daemons

    def document(self, boot: str, now: float) -> dict[str, Any]:
        return {"boot": boot, "at": now, "tracks": {name: track.saved() for name, track in self.tracks.items()}}

    def restore(self, document: dict[str, Any], boot: str) -> None:
        if document.get("boot") == boot:
            self._saved, self._saved_at = document["tracks"], float(document["at"])
