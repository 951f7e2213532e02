"""What each session is doing: the evidence gathered, and the verdict on it. Never stored as truth.

Knows meters, measures and the fleet; the rules are `domain.verdict`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lamplighter.domain.session import Session
from lamplighter.domain.verdict import Evidence, Verdict, is_active, judge
from lamplighter.errors import Code, ConflictError
from lamplighter.holder.meter import Reading
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.gauge import Gauge, Measure

_NOTHING = Measure()


@dataclass(frozen=True, slots=True)
class Assessment:
    """One session at one look. `quiet_for` is seconds without a sign of life, not counting the machine's sleep."""

    session: Session
    verdict: Verdict
    evidence: list[str]
    measure: Measure
    reading: Reading | None
    attached: int
    quiet_for: float

    @property
    def active(self) -> bool:
        """Working, waiting, unknown, or with people attached: not to be ended without force."""
        return is_active(self.verdict, self.attached)


class Judgement:
    def __init__(self, fleet: Fleet, gauge: Gauge) -> None:
        self.fleet = fleet
        self.gauge = gauge

    async def assess(self, sessions: Iterable[Session], fresh: float = 1.0) -> list[Assessment]:
        """Each, in the order given, from a look not older than `fresh` seconds; ended ones too."""
        await self.fleet.look(fresh)
        measures = await self.gauge.measures(fresh)
        return [self._assess(session, measures.get(session.id, _NOTHING)) for session in sessions]

    async def assess_one(self, session: Session, fresh: float = 1.0) -> Assessment:
        return (await self.assess([session], fresh))[0]

    async def refuse_active(self, session: Session) -> None:
        """ACTIVE when it should not be killed without force."""
        if session.id not in self.fleet.lamps:
            return
        found = await self.assess_one(session, 0.2)
        if found.active:
            raise ConflictError(
                Code.ACTIVE,
                f"{session.name} ({session.id}) is active: {found.verdict}; {', '.join(found.evidence) or 'just started'}",
                "end it politely with lamp end, or kill it with --force",
                verdict=found.verdict.value,
                evidence=found.evidence,
            )

    def _assess(self, session: Session, measure: Measure) -> Assessment:
        reading = self.fleet.reading(session.id) if session.alive else None
        evidence = self._evidence(session, measure, reading)
        verdict, words = judge(evidence)
        last = max(reading.last_output, reading.last_input) if reading else 0.0
        quiet = self.fleet.clock.now() - max(last, session.started_at or session.created_at)
        return Assessment(session, verdict, words, measure, reading, evidence.attached, max(0.0, quiet))

    def _evidence(self, session: Session, measure: Measure, reading: Reading | None) -> Evidence:
        now = self.fleet.clock.now()
        lamp = self.fleet.lamps.get(session.id)
        return Evidence(
            ended=not session.alive,
            leftovers=lamp is not None and lamp.phase == "leftovers",
            processes=len(measure.processes),
            stopped=measure.stopped,
            cpu_rate=measure.rate,
            output_age=_age(now, reading.last_output if reading else 0.0),
            input_age=_age(now, reading.last_input if reading else 0.0),
            age=now - (session.started_at or session.created_at),
            attached=(reading.attached if reading else 0) + self.fleet.watchers(session.id),
            parent_gone=session.parent is not None and session.parent not in self.fleet.lamps,
            quiet=self.fleet.settings.quiet,
        )


def _age(now: float, at: float) -> float | None:
    return max(0.0, now - at) if at else None
