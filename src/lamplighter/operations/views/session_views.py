"""Sessions as views: what the store, the meters and the process sampler say, with the verdict and its evidence."""

from __future__ import annotations

import sqlite3
from typing import Any

from lamplighter.domain.ending import Ending
from lamplighter.domain.memory.handoff import Handoff, best
from lamplighter.domain.permission import Caller
from lamplighter.domain.selection import Selection
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded, intent_of
from lamplighter.engine.agents_io.usage import Usage
from lamplighter.engine.backends.tmux.multiplexers import HandMade, Multiplexers
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.assessor import Assessment, Assessor
from lamplighter.engine.service.doctor import Doctor
from lamplighter.engine.service.selector import Selector
from lamplighter.holder import proc
from lamplighter.operations.views.common import (
    EndingView,
    HandMadeView,
    HandoffView,
    LimitsView,
    ProcessView,
    SessionDetail,
    Sessions,
    SessionView,
    moment,
    without_output,
)
from lamplighter.store import handoffs, sessions

_LONGEST_COMMAND = 400
_FIELDS = set(SessionView.model_fields)


class SessionViews:
    def __init__(
        self,
        registry: SessionRegistry,
        assessor: Assessor,
        selector: Selector,
        multiplexers: Multiplexers,
        usage: Usage,
        host: Doctor,
    ) -> None:
        self.registry = registry
        self.assessor = assessor
        self.selector = selector
        self.multiplexers = multiplexers
        self.usage = usage
        self.host = host
        self._kept: dict[str, tuple[Session, dict[str, Any]]] = {}

    async def list(self, *, ended: bool, limit: int) -> Sessions:
        found: list[Session] = []
        if ended:
            found = await self.registry.store.read(lambda db: sessions.newest_ended(db, limit))
        found += [live.session for live in self.registry.live_sessions.values()]
        found.sort(key=lambda session: session.id)
        views = [self._view(one) for one in await self.assessor.assess(found[-limit:], 2.0)]
        return Sessions.model_construct(
            sessions=views,
            left_out=max(0, len(found) - limit),
            by_hand=await self.by_hand(),
            notice=await self.host.notice(),
        )

    async def by_hand(self) -> list[HandMadeView]:
        """tmux sessions that no session stands for."""
        return [await self._hand_made(made) for made in await self.multiplexers.made_by_hand()]

    async def _hand_made(self, made: HandMade) -> HandMadeView:
        measure = await self.assessor.sampler.tally(pane.pid for pane in made.panes if not pane.dead)
        return HandMadeView(
            id=made.id,
            windows=len({pane.window for pane in made.panes}),
            panes=len(made.panes),
            attached=made.first.attached,
            processes=len(measure.processes),
            memory=measure.memory,
            commands=list(dict.fromkeys(pane.command for pane in made.panes)),
            created_at=moment(made.first.created) or "",
            cwd=made.first.cwd,
        )

    async def chosen(self, selection: Selection, caller: Caller, *, ended: bool, limit: int) -> Sessions:
        """As `list`, those alone that match."""
        found = await self.selector.choose(selection, caller, ended=ended, fresh=2.0)
        views = [self._view(one) for one in found[-limit:]]
        return Sessions.model_construct(sessions=views, left_out=max(0, len(found) - limit), by_hand=[])

    async def view(self, session: Session) -> SessionView:
        return self._view(await self.assessor.assess_one(session))

    async def detail(self, session: Session, *, output: bool) -> SessionDetail:
        """`output`: with what it printed last, where it has ended."""
        await self.usage.count(session)
        await self.assessor.assess_one(session, 0.1)
        session = await self.registry.now(session)  # it may have ended during that look
        found = await self.assessor.assess_one(session)
        live = self.registry.live_sessions.get(session.id)
        view = self._view(found)
        ending = session.state.ending if isinstance(session.state, HasEnded) else None
        guarantee = live.guarantee if live else ending.certificate.guarantee.value if ending else ""
        more: dict[str, Any] = {
            "command": list(session.command),
            "guarantee": "best_effort" if session.holder_lost else guarantee,
            "holder_lost": session.holder_lost,
            "limits": LimitsView.showing(session.limits),
            "warnings": self.assessor.warnings(session.id),
            "tree": [_process(stat) for stat in found.measure.processes],
            "children": self.registry.children(session.id),
            "project_id": session.project_id,
            "predecessor": session.predecessor,
            **await self._legacy(session),
            "intent": _intent(session),
            "survivors": _survivors(live.certificate if live else None),
            "ending": _ending(ending, output=output) if ending else None,
            "folder": self.registry.folder(session.id),
            "tmux": session.place or None,
            "conversation": session.conversation or None,
        }
        return SessionDetail.model_validate({**view.model_dump(), **more})

    async def _legacy(self, session: Session) -> dict[str, Any]:
        """What it left, and who went on from it."""

        def read(db: sqlite3.Connection) -> tuple[Session | None, list[Handoff]]:
            return sessions.successor_of(db, session.id), handoffs.of_session(db, session.id)

        after, left = await self.registry.store.get(read)
        last = best(left)
        return {"successor": after.id if after else None, "handoff": HandoffView.of(last) if last else None}

    def _view(self, found: Assessment) -> SessionView:
        session, reading, measure = found.session, found.reading, found.measure
        values = {
            **self._unchanging(session),
            "verdict": found.verdict.value,
            "evidence": found.evidence,
            "last_output_at": moment((reading.last_output if reading else session.facts.last_output) or None),
            "last_input_at": moment((reading.last_input if reading else _spoke_at(session)) or None),
            "attached": found.attached,
            "processes": len(measure.processes),
            "memory": measure.memory,
            "cpu": round(measure.cpu, 2),
            "quiet_for": round(found.quiet_for, 1) if session.alive else 0.0,
            "output": reading.offset if reading else session.facts.output or 0,
            "tokens": self.usage.known(session),
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
            state=session.state.word,
            owner=session.owner,
            parent=session.parent,
            project=session.project,
            command=_shortened(session.command),
            cwd=session.cwd,
            protected=session.protected,
            keep_children=session.keep_children,
            labels=session.labels,
            pid=session.main.pid if session.main else None,
            created_at=moment(session.created_at),
            started_at=moment(session.started_at),
        )
        if isinstance(session.state, HasEnded):
            ending = session.state.ending
            exit = ending.exit.document() if ending.exit else None
            values.update(ended_at=moment(ending.at), exit=exit, how=ending.how.value, reason=ending.reason or None)
        else:
            self._kept[session.id] = (session, values)
            if len(self._kept) > 2 * len(self.registry.live_sessions) + 100:
                self._kept = {name: value for name, value in self._kept.items() if name in self.registry.live_sessions}
        return values


def _spoke_at(session: Session) -> float | None:
    """When one that has ended was last typed to; when a logical one last spoke, which is all that is known of its input."""
    return session.lease.spoke.wall if session.lease else session.facts.last_input


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
    intent = intent_of(session.state)
    if intent is None:
        return None
    return {"by": intent.by, "reason": intent.reason, "at": moment(intent.at), "how": intent.how.value}


def _survivors(certificate: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Those that live yet: a shim says who has survived, and not when one of several goes at last."""
    found: list[dict[str, Any]] = certificate["survivors"] if certificate else []
    return [each for each in found if proc.is_left(each["pid"], each["start_ticks"])]


def _ending(ending: Ending, *, output: bool) -> EndingView:
    return EndingView.showing(
        ending,
        exit=ending.exit.document() if ending.exit else None,
        certificate=ending.certificate.document(),
        summary=ending.summary if output else without_output(ending.summary),
    )
