"""What each session is doing: the evidence gathered, and the verdict on it. Never stored as truth.

Knows meters, measures and the registry; the rules are `domain.verdict`'s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lamplighter.agents.formats.transcript import format_of
from lamplighter.domain.duration import format_duration
from lamplighter.domain.lease import Lease
from lamplighter.domain.screen_sign import Sign
from lamplighter.domain.session import Session
from lamplighter.domain.text.output_tail import tail_of
from lamplighter.domain.verdict import (
    BUSY_CPU,
    QUESTION_SECONDS,
    Evidence,
    Rest,
    Verdict,
    is_active,
    judge,
    judge_logical,
    quiet_for,
)
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.activity import ActivityTrack
from lamplighter.engine.observe.look_targets import LookTargets
from lamplighter.engine.observe.owners import Owners
from lamplighter.engine.observe.process_sampler import Measure, ProcessSampler
from lamplighter.engine.observe.screens import Screens
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import Code, ConflictError, Hint, Option, Use
from lamplighter.holder.meter import MeterReading as Meter
from lamplighter.lazy_dataclass import dataclass

_NOTHING = Measure()
_TICK = os.sysconf("SC_CLK_TCK")
_TAIL = 1000
_HEARD = 4096
_SCREEN_SECONDS = 1.0  # between two looks at a screen that is drawn all the time
_SCREENS_SECONDS = 0.25  # for all the screens of one look: the others are looked at the next time


@dataclass
class Assessment:
    """One session at one look. `quiet_for` is seconds without input, new output or CPU, not counting the machine's sleep."""

    session: Session
    verdict: Verdict
    evidence: list[str]
    measure: Measure
    reading: Meter | None
    attached: int
    quiet_for: float

    @property
    def active(self) -> bool:
        """Working, waiting, unknown, or with people attached: not to be ended without force."""
        return is_active(self.verdict, self.attached)


class Assessor:
    def __init__(
        self,
        registry: SessionRegistry,
        backends: Backends,
        sampler: ProcessSampler,
        targets: LookTargets,
        reading: OutputReader,
        screens: Screens,
    ) -> None:
        self.registry = registry
        self.backends = backends
        self.sampler = sampler
        self.reading = reading
        self.screens = screens
        self.targets = targets
        self.tracks = targets.tracks
        self.owners = Owners(registry, sampler, self.tracks)
        self.thresholds = targets.thresholds
        self._since = registry.clock.monotonic()
        self._seen: dict[str, float] = {}
        self._judged: dict[str, tuple[tuple[object, ...], Assessment]] = {}

    async def assess(self, sessions: Sequence[Session], fresh: float = 1.0) -> list[Assessment]:
        """Each, in the order given, from a look not older than `fresh` seconds; ended ones too."""
        await self.registry.look(fresh)
        return await self._assess(sessions, await self.sampler.measures(fresh))

    async def assess_one(self, session: Session, fresh: float = 1.0) -> Assessment:
        return (await self.assess([session], fresh))[0]

    async def decide(self, sessions: Sequence[Session]) -> list[Assessment]:
        """As `assess`, for somebody who acts on it: looked at now, and the CPU of each known."""
        names = {session.id for session in sessions}
        await self.registry.look(0.0)
        with self.targets.pressing(names):
            measures = await self.sampler.compared(names)
            for name in names:
                self._judged.pop(name, None)
            return await self._assess(sessions, measures)

    async def refuse_active(self, session: Session) -> None:
        """ACTIVE when it should not be killed without force."""
        if session.id not in self.registry.live_sessions:
            return
        (found,) = await self.decide([session])
        if found.active:
            raise ConflictError(
                Code.ACTIVE,
                f"{session.name} ({session.id}) is active: {found.verdict}; {', '.join(found.evidence) or 'just started'}",
                Hint("end it politely with ", Use("end"), ", or kill it with ", Option("force", True)),
                verdict=found.verdict.value,
                evidence=found.evidence,
            )

    def silent_for(self, session: Session) -> float:
        """Seconds without output or input, by the meter alone; of a logical one, without a word."""
        lease = self._lease(session)
        if lease is not None:
            return lease.silent_for(self.registry.moment())
        now, meter = self.registry.clock.monotonic(), self.registry.reading(session.id)
        track = self.tracks.tracks.get(session.id)
        metered = self.backends.of(session).metered
        noticed = () if metered or track is None else (track.printed_at, track.typed_at)
        last = max(meter.heard, meter.typed, *noticed) if meter else 0.0
        return min(now - last, self.age_of(session))

    async def is_at_rest(self, session: Session, quiet: float) -> bool:
        """Whether it takes input, or nothing will come of it any more; for somebody who waits for it to be so."""
        if session.lease is not None:
            return self.silent_for(session) >= quiet
        if self.backends.of(session).says_itself:
            return (await self.decide([session]))[0].verdict not in (Verdict.WORKING, Verdict.UNKNOWN)
        await self.decide([session])
        measure, meter = self.sampler.last(session.id), self.registry.reading(session.id)
        track = self.tracks.tracks.get(session.id)
        if measure is None or track is None:
            return False
        found = self._evidence(session, measure, meter, track, self.registry.clock.monotonic())
        verdict, _ = judge(found, replace(self.thresholds, quiet=quiet))
        moves = (found.cpu_rate or 0.0) >= BUSY_CPU or self.silent_for(session) < quiet
        works = found.told is not None and found.told.sign is Sign.WORKING
        takes_input = found.rest in (Rest.INPUT, Rest.KEYS) and not works
        return not moves and (takes_input or verdict not in (Verdict.WORKING, Verdict.UNKNOWN))

    def warnings(self, session: str) -> list[str]:
        """The limits for which it was warned."""
        track = self.tracks.tracks.get(session)
        return [reason for _, reason in track.warned.values()] if track else []

    async def listen(self, sessions: Iterable[Session]) -> None:
        """Take in what was printed since the last time, to know a spinner from news. For the patrol: it reads logs."""
        now = self.registry.clock.monotonic()
        for session in sessions:
            track, meter = self.tracks.tracks.get(session.id), self.registry.reading(session.id)
            if track is not None and meter is not None and meter.offset > track.heard and session.shim is not None:
                data, _ = await self.reading.raw(session, max(track.heard, meter.offset - _HEARD), _HEARD)
                track.hear(now, data, meter.offset)

    async def _assess(self, sessions: Sequence[Session], measures: dict[str, Measure]) -> list[Assessment]:
        self._take_in(measures)
        await self.listen(session for session in sessions if self._may_spin(session))
        found = [self._judge(session, measures.get(session.id, _NOTHING)) for session in sessions]
        deadline = time.monotonic() + _SCREENS_SECONDS
        found = await self._with_questions(found, deadline)
        for number, one in enumerate(found):
            looks = self._wants_screen(one, hurried=time.monotonic() > deadline)
            if looks:
                await self._read_screen(one.session)
            elif self._lacks_tail(one):
                await self._read_tail(one.session)
            else:
                continue
            self._judged.pop(one.session.id, None)
            found[number] = self._judge(one.session, one.measure)
        return found

    async def _with_questions(self, found: list[Assessment], deadline: float) -> list[Assessment]:
        """One whose output ends with a question may wait for its answer already: what it is at is looked for at once."""
        asking = [one.session for one in found if self._may_ask(one) and time.monotonic() < deadline]
        for session in asking:
            await self._read_tail(session)
        names = {session.id for session in asking if self.targets.ends_with_question(session)}
        if not names:
            return found
        with self.targets.pressing(names):
            measures = await self.sampler.measures(0.0)
        self._take_in(measures)
        for name in names:
            self._judged.pop(name, None)
        return [self._judge(one.session, measures.get(one.session.id, _NOTHING)) for one in found]

    def _may_ask(self, found: Assessment) -> bool:
        """It has printed something, and nothing since a moment; nobody has read that yet."""
        session, meter = found.session, found.reading
        track = self.tracks.tracks.get(session.id) if session.alive and session.shim is not None else None
        if track is None or meter is None or not meter.offset or track.tail_offset == meter.offset:
            return False
        if found.verdict not in (Verdict.WORKING, Verdict.UNKNOWN) or not session.has_terminal:
            return False
        heard = self.registry.clock.monotonic() - meter.heard
        return heard >= QUESTION_SECONDS and self.screens.signs(session) is None

    # -- taking in a look

    def _take_in(self, measures: dict[str, Measure]) -> None:
        """Each look once, however often it is asked about."""
        for name, measure in measures.items():
            if self._seen.get(name) != measure.at:
                self._seen[name] = measure.at
                track = self.tracks.of(name, measure.when, measure.cpu, self._born(name))
                track.see(measure.when, measure, self.registry.reading(name))
                self.owners.see(name, track, measure.when)
        if len(self._seen) > 2 * len(measures) + 100:
            self._seen = {name: self._seen[name] for name in measures}
            self._judged = {name: kept for name, kept in self._judged.items() if name in measures}
            self.tracks.keep(set(measures))

    def _born(self, session: str) -> float | None:
        live = self.registry.live_sessions.get(session)
        awake_at = live.session.facts.awake_at if live else None
        return awake_at if awake_at is not None and awake_at >= self._since else None

    def _may_spin(self, session: Session) -> bool:
        """For one that draws all the time, what was heard in the patrol's last round is old by now."""
        track = self.tracks.tracks.get(session.id)
        return track is not None and self.registry.clock.monotonic() - track.novel_at >= self.thresholds.spin

    def _lacks_tail(self, found: Assessment) -> bool:
        track = self.tracks.tracks.get(found.session.id)
        if track is None or track.front is None or found.reading is None or found.session.shim is None:
            return False
        resting = track.front.rest in (Rest.INPUT, Rest.KEYS) and found.verdict in (Verdict.IDLE, Verdict.WAITING)
        return resting and track.tail_offset != found.reading.offset

    async def _read_tail(self, session: Session) -> None:
        track, meter = self.tracks.tracks[session.id], self.registry.reading(session.id)
        if meter is None:
            return
        data, _ = await self.reading.raw(session, max(0, meter.offset - _TAIL), _TAIL)
        tail = tail_of(data)
        # Evidence is everybody's to read: where output is not, it quotes none.
        track.tail = tail._replace(line="") if self.registry.settings.reads_own else tail
        track.tail_offset = meter.offset

    def _wants_screen(self, found: Assessment, *, hurried: bool) -> bool:
        """Once for each screen of an agent; of one that is drawn all the time, now and then. Who acts on it sees the newest."""
        track, session = self.tracks.tracks.get(found.session.id), found.session
        if track is None or found.reading is None or session.shim is None or self.screens.signs(session) is None:
            return False
        if track.sign_offset == found.reading.offset:
            return False
        if self.targets.is_pressing(session.id):
            return True
        return not hurried and self.registry.clock.monotonic() - track.sign_at >= _SCREEN_SECONDS

    async def _read_screen(self, session: Session) -> None:
        track, shown = self.tracks.tracks[session.id], await self.screens.look(session)
        if shown is not None and shown.offset is not None:
            told = shown.told
            if told is not None and self.registry.settings.reads_own:  # as with a tail: words of its screen are its own
                what = "an answer" if told.sign is Sign.WAITING else told.what
                told = replace(told, what=what, error="its screen has the words" if told.error else "")
            track.sign, track.sign_offset, track.sign_at = told, shown.offset, self.registry.clock.monotonic()
            track.blind_at = shown.offset if told is None and not shown.blank else -1

    # -- judging

    def _judge(self, session: Session, measure: Measure) -> Assessment:
        """Ages are told in seconds: within one, nothing new to say of the same look and the same meter."""
        meter = self.registry.reading(session.id) if session.alive else None
        now = self.registry.clock.monotonic()
        live = self.registry.live_sessions.get(session.id)
        people = live.watchers if live else 0
        state = (meter.offset, meter.typed, meter.closed, meter.attached, people) if meter else ()
        key = (session, measure.at, int(now), self._told(session), *state)
        kept = self._judged.get(session.id)
        if kept is not None and kept[0][0] is session and kept[0][1:] == key[1:]:
            return kept[1]
        found = self._judge_anew(session, measure, meter, now)
        if session.alive:
            self._judged[session.id] = (key, found)
        return found

    def _judge_anew(self, session: Session, measure: Measure, meter: Meter | None, now: float) -> Assessment:
        if session.lease is not None and session.alive:
            return self._judge_logical(session, measure)
        track = self.tracks.tracks.get(session.id) if session.alive else None
        evidence = self._evidence(session, measure, meter, track, now)
        verdict, words = judge(evidence, self.thresholds)
        verdict, words = self._as_told(session, evidence, verdict, words)
        quiet = quiet_for(evidence, self.thresholds)
        return Assessment(session, verdict, words, measure, meter, evidence.attached, quiet)

    def _as_told(
        self, session: Session, seen: Evidence, verdict: Verdict, words: list[str]
    ) -> tuple[Verdict, list[str]]:
        """Who speaks a protocol says itself whether it works; what its processes show counts where they are dead or stopped."""
        told = self._told(session)
        stopped = seen.halted or seen.stopped == seen.processes or seen.deep_for
        if told is None or seen.leftovers or (verdict is Verdict.STUCK and stopped):
            return verdict, words
        if told[0] is Verdict.IDLE and (seen.cpu_rate or 0.0) >= BUSY_CPU:
            return Verdict.WORKING, [f"{told[1]}, but its processes compute", *words]
        if told[0] is Verdict.WORKING and seen.still_for >= self.thresholds.stall and verdict is not Verdict.WORKING:
            return Verdict.STUCK, [f"{told[1]}, and nothing has moved for {format_duration(seen.still_for)}", *words]
        if told[0] is not Verdict.WORKING and seen.gone:
            return Verdict.ORPHANED, [seen.gone, told[1], *words]
        return told[0], [told[1], *words]

    def _told(self, session: Session) -> tuple[Verdict, str] | None:
        return self.backends.of(session).own_verdict(session) if session.alive else None

    def _judge_logical(self, session: Session, measure: Measure) -> Assessment:
        lease = self._lease(session)
        assert lease is not None
        now = self.registry.moment()
        silent_for, gone = lease.silent_for(now), self.owners.gone(session)
        verdict, words = judge_logical(silent_for, lease.left(now), gone, self.thresholds)
        return Assessment(session, verdict, words, measure, None, 0, silent_for)

    def _lease(self, session: Session) -> Lease | None:
        """As it was last renewed."""
        live = self.registry.live_sessions.get(session.id)
        return (live.session if live else session).lease

    def _evidence(
        self, session: Session, measure: Measure, meter: Meter | None, track: ActivityTrack | None, now: float
    ) -> Evidence:
        if not session.alive or track is None:
            return Evidence(
                ended=not session.alive, processes=len(measure.processes), attached=self.registry.attached(session.id)
            )
        live = self.registry.live_sessions.get(session.id)
        heard = max(meter.heard, track.printed_at) if meter else 0.0
        typed = max(meter.typed, track.typed_at) if meter else 0.0
        front, looked = track.front, track.looked_at
        told = track.told(now, meter.offset) if meter is not None else None
        return Evidence(
            leftovers=live is not None and live.phase == "leftovers",
            processes=len(measure.processes),
            stopped=measure.stopped,
            halted=measure.halted,
            cpu_rate=measure.rate,
            behind_rate=track.behind_rate,
            cpu_age=looked - track.busy_at if track.busy_at > track.seen_at else None,
            busy_age=looked - track.busy_at,
            heavy_age=looked - track.heavy_at,
            still_for=looked - track.still_since,
            output_age=_age(now, heard),
            input_age=_age(now, typed),
            repeats_for=track.repeats_for(heard),
            age=self.age_of(session),
            rest=front.rest if front else None,
            front=front.name if front else os.path.basename(session.command[0])[:60],
            sleeps=front.sleeps if front else False,
            background=front.background if front else None,
            connected=front.connected if front else False,
            woke_age=_age(looked, track.woke_at or 0.0),
            deep_for=looked - track.deep_since if track.deep_since is not None else 0.0,
            tail=track.tail if meter is not None and track.tail_offset == meter.offset else None,
            told=told,
            blind=meter is not None and track.blind_at == meter.offset,
            editor=measure.editor or (front.guest if front and told is None else None),
            resumed=_is_resumed(session),
            prompted=bool(session.told),
            terminal=session.has_terminal,
            closed=meter is not None and meter.closed,
            attached=self.registry.attached(session.id),
            gone=self.owners.gone(session),
        )

    def age_of(self, session: Session) -> float:
        """Not counting the machine's sleep, where that is known; never by the wall clock, which can be set."""
        awake_at = session.facts.awake_at
        if awake_at is not None:
            return max(0.0, self.registry.clock.monotonic() - awake_at)
        if session.main is not None:
            return max(0.0, self.registry.clock.since_boot() - session.main.start / _TICK)
        return max(0.0, self.registry.clock.now() - session.created_at)


def _is_resumed(session: Session) -> bool:
    form = format_of(session.agent)
    return form is not None and not form.again.isdisjoint(session.command)


def _age(now: float, at: float) -> float | None:
    return max(0.0, now - at) if at else None
