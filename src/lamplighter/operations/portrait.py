"""Sessions as views: what the store, the meters and the gauge say, with the verdict and its evidence."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.session import Session
from lamplighter.domain.verdict import Evidence, Verdict, is_active, judge
from lamplighter.errors import Code, ConflictError
from lamplighter.holder import proc
from lamplighter.holder.meter import Reading
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.gauge import Gauge, Measure
from lamplighter.operations.views import (
    CertificateView,
    EndingView,
    ProcessView,
    SessionDetail,
    Sessions,
    SessionView,
    moment,
)
from lamplighter.store import sessions

_NOTHING = Measure()
_LONGEST_COMMAND = 400
_FIELDS = set(SessionView.model_fields)


class Portrait:
    def __init__(self, fleet: Fleet, gauge: Gauge) -> None:
        self.fleet = fleet
        self.gauge = gauge
        self._kept: dict[str, tuple[Session, dict[str, Any]]] = {}

    async def list(self, *, ended: bool, limit: int) -> Sessions:
        found: list[Session] = []
        if ended:
            found = await self.fleet.store.read(lambda db: sessions.newest_ended(db, limit))
        found += [lamp.session for lamp in self.fleet.lamps.values()]
        found.sort(key=lambda session: session.id)
        measures = await self.gauge.measures(2.0)
        views = [self._view(session, measures.get(session.id, _NOTHING)) for session in found[-limit:]]
        return Sessions.model_construct(sessions=views, left_out=max(0, len(found) - limit))

    async def view(self, session: Session) -> SessionView:
        measures = await self.gauge.measures()
        return self._view(session, measures.get(session.id, _NOTHING))

    async def detail(self, session: Session) -> SessionDetail:
        measure = (await self.gauge.measures(0.1)).get(session.id, _NOTHING)
        session = await self.fleet.now(session)  # it may have ended during that look
        lamp = self.fleet.lamps.get(session.id)
        measure = measure if lamp else _NOTHING
        view = self._view(session, measure)
        guarantee = lamp.guarantee if lamp else session.ending.certificate.guarantee.value if session.ending else ""
        more: dict[str, Any] = {
            "command": list(session.command),
            "guarantee": "best_effort" if session.holder_lost else guarantee,
            "holder_lost": session.holder_lost,
            "tree": [_process(stat) for stat in measure.processes],
            "children": self.fleet.children(session.id),
            "intent": _intent(session),
            "ending": _ending(session),
            "folder": self.fleet.folder(session.id),
        }
        return SessionDetail.model_validate({**view.model_dump(), **more})

    async def judged(self, session: Session, fresh: float = 1.0) -> tuple[Verdict, list[str], Reading | None]:
        """The verdict on a living session now."""
        measure = (await self.gauge.measures(fresh)).get(session.id, _NOTHING)
        reading = self.fleet.reading(session.id)
        verdict, evidence = judge(self._evidence(session, measure, reading))
        return verdict, evidence, reading

    async def refuse_active(self, session: Session) -> None:
        """ACTIVE when it should not be killed without force."""
        if session.id not in self.fleet.lamps:
            return
        verdict, evidence, reading = await self.judged(session, 0.2)
        if is_active(verdict, reading.attached if reading else 0):
            raise ConflictError(
                Code.ACTIVE,
                f"{session.name} ({session.id}) is active: {verdict}; {', '.join(evidence) or 'just started'}",
                "end it politely with lamp end, or kill it with --force",
                verdict=verdict.value,
                evidence=evidence,
            )

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
            attached=reading.attached if reading else 0,
            parent_gone=session.parent is not None and session.parent not in self.fleet.lamps,
            quiet=self.fleet.settings.quiet,
        )

    def _view(self, session: Session, measure: Measure) -> SessionView:
        reading = self.fleet.reading(session.id) if session.alive else None
        verdict, evidence = judge(self._evidence(session, measure, reading))
        values = {
            **self._unchanging(session),
            "verdict": verdict.value,
            "evidence": evidence,
            "last_output_at": moment(reading.last_output or None) if reading else None,
            "last_input_at": moment(reading.last_input or None) if reading else None,
            "attached": reading.attached if reading else 0,
            "processes": len(measure.processes),
            "memory": measure.memory,
            "cpu": round(measure.cpu, 2),
            "output": reading.offset if reading else session.facts.get("output", 0),
        }
        # Built without validation: the values are ours, and a list of a thousand is asked for often.
        view = SessionView.__new__(SessionView)
        object.__setattr__(view, "__dict__", values)
        object.__setattr__(view, "__pydantic_fields_set__", _FIELDS)
        return view

    def _unchanging(self, session: Session) -> dict[str, Any]:
        """What a view says until the session changes, in the order of its fields, with room for the rest."""
        kept = self._kept.get(session.id)
        if kept is not None and kept[0] is session:
            return kept[1]
        values: dict[str, Any] = dict.fromkeys(SessionView.model_fields)
        values.update(
            id=session.id,
            name=session.name,
            kind=session.kind.value,
            agent=session.agent,
            driver=session.driver.value,
            state=session.state.value,
            owner=session.owner,
            parent=session.parent,
            project=session.project,
            command=_shortened(session.command),
            cwd=session.cwd,
            protected=session.protected,
            keep_children=session.keep_children,
            pid=session.main.pid if session.main else None,
            created_at=moment(session.created_at),
            started_at=moment(session.started_at),
            ended_at=moment(session.ended_at),
            exit=session.exit.document() if session.exit else None,
            how=session.ending.how.value if session.ending else None,
        )
        if session.alive:
            self._kept[session.id] = (session, values)
            if len(self._kept) > 2 * len(self.fleet.lamps) + 100:
                self._kept = {name: value for name, value in self._kept.items() if name in self.fleet.lamps}
        return values


def _shortened(command: tuple[str, ...]) -> list[str]:
    """Whole words, as many as fit a listing."""
    shown: list[str] = []
    room = _LONGEST_COMMAND
    for word in command:
        if len(word) > room:
            return [*shown, word[:room] + "…"]
        shown.append(word)
        room -= len(word) + 1
    return shown


def _age(now: float, at: float) -> float | None:
    return max(0.0, now - at) if at else None


def _process(stat: proc.Stat) -> ProcessView:
    return ProcessView(
        pid=stat.pid,
        parent=stat.parent,
        command=proc.command_of(stat.pid),
        state=stat.state,
        memory=stat.memory,
        cpu=stat.cpu,
    )


def _intent(session: Session) -> dict[str, Any] | None:
    if session.intent is None:
        return None
    return {
        "by": session.intent.by,
        "reason": session.intent.reason,
        "at": moment(session.intent.at),
        "how": session.intent.how.value,
    }


def _ending(session: Session) -> EndingView | None:
    ending = session.ending
    if ending is None:
        return None
    return EndingView(
        at=moment(ending.at) or "",
        by=ending.by,
        reason=ending.reason,
        how=ending.how.value,
        exit=ending.exit.document() if ending.exit else None,
        certificate=CertificateView.model_validate(ending.certificate.document()),
    )
