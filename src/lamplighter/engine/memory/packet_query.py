"""What a packet is made of, as the store and the folder have it. Knows queries and files; how a packet is written is the
domain's, who asks for it is `packing`'s."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lamplighter.domain.ended_as import close_of
from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.packet_parts import Before, Gone, PacketParts, Section, Since
from lamplighter.domain.memory.record import Record, RecordType, Source
from lamplighter.domain.memory.succession import policy_of
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded
from lamplighter.engine.repo.evidence import stale_all
from lamplighter.engine.repo.repository import head
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import handoffs, packets, sessions

_NOTES = 1_000  # bytes of them: they are not shown, but for some ids
_GONE = 5
_KINDS = {
    Section.CONSTRAINTS: (RecordType.CONSTRAINT,),
    Section.FOCUS: (RecordType.NEXT_SESSION_FOCUS, RecordType.CHECKPOINT),
    Section.LOOPS: (RecordType.OPEN_LOOP,),
    Section.WARNINGS: (RecordType.WARNING,),
    Section.DECISIONS: (RecordType.DECISION,),
    Section.PREFERENCES: (RecordType.PREFERENCE,),
    Section.RELATION: (RecordType.RELATIONAL_DELTA,),
    Section.NOTES: (RecordType.NOTE,),
}
_OLDEST_FIRST = frozenset({RecordType.CONSTRAINT, RecordType.OPEN_LOOP})


@dataclass(frozen=True)
class Question:
    """For whom a packet is: `reader` is the session of whoever asks, which does not come before itself. `called`: the name of a
    project of which nothing is kept yet."""

    packet: str
    at: float
    project: str | None
    predecessor: str | None
    reader: str | None
    budget: int
    called: str | None = None


@dataclass(frozen=True)
class Gathered:
    """The ingredients, and whose hand-off is the last before."""

    what: PacketParts
    session: Session | None
    handoff: Handoff | None


def gather(db: sqlite3.Connection, asked: Question) -> Gathered:
    """All that the store has to say. For the store's thread."""
    named = asked.predecessor or handoffs.last_session(db, asked.project, asked.reader)
    session = sessions.get(db, named) if named else None
    left = handoffs.of_session(db, session.id) if session else []
    before = _before(session, left) if session else None
    records, more = _records(db, asked, session)
    what = PacketParts(
        packet=asked.packet,
        now=asked.at,
        project=_called(db, asked),
        before=before,
        records=records,
        more=more,
        since=_since(db, asked, session, before),
    )
    return Gathered(what, session, left[-1] if left else None)


def _called(db: sqlite3.Connection, asked: Question) -> str | None:
    if asked.project is None:
        return None
    known = handoffs.project_name(db, asked.project)
    return asked.called or known if known == asked.project else known


def look(found: Gathered) -> PacketParts:
    """With what the files and git say now. Blocks; for a thread."""
    at = head(found.session.cwd) if found.session else None
    records = [record for section in found.what.records.values() for record in section]
    since = replace(found.what.since, head_now=at.sha or None if at else None)
    return replace(found.what, stale=stale(records), since=since)


def stale(records: Iterable[Record]) -> dict[str, tuple[str, ...]]:
    """What has changed of what they rest on, for those of which something has. Blocks."""
    citing = [record for record in records if record.evidence]
    phrases = stale_all([record.evidence for record in citing]) if citing else []
    return {record.id: tuple(said) for record, said in zip(citing, phrases, strict=True) if said}


def _before(session: Session, left: list[Handoff]) -> Before:
    return Before(
        name=session.name,
        id=session.id,
        agent=session.agent,
        at=session.ended_at or (left[-1].at if left else session.created_at),
        close=close_of(session, handed_off=_handed_off(left)),
        policy=policy_of(left),
        inferred=bool(left) and all(handoff.inferred for handoff in left),
        alive=session.alive,
    )


def _handed_off(left: list[Handoff]) -> bool:
    """With a hand-off that somebody wrote to end with, whatever became of its processes."""
    return any(handoff.ending or handoff.source is Source.END_SESSION for handoff in left if not handoff.inferred)


def _records(
    db: sqlite3.Connection, asked: Question, session: Session | None
) -> tuple[dict[Section, tuple[Record, ...]], dict[Section, int]]:
    """What can fit of each section, the project's before what holds everywhere; and how many there are beside that."""
    places = list(dict.fromkeys((asked.project, None)))
    left = packets.left_by(db, session.id) if session else []
    if asked.predecessor is None:  # what it left elsewhere is another project's
        left = [record for record in left if record.project in places]
    inferred = tuple(record for record in left if record.type is RecordType.NOTE)

    has_said = any(record.type in _KINDS[Section.FOCUS] for record in left)

    def some(kind: RecordType, room: int | None) -> list[Record]:
        query = packets.oldest if kind in _OLDEST_FIRST else packets.newest
        return [record for place in places for record in query(db, place, kind, room)]

    def single(kind: RecordType) -> list[Record]:
        """What the session before left; else the newest that there is, but nothing of its workers where it said itself how the
        work stands."""
        own = [record for record in left if record.type is kind]
        others = [] if own else some(kind, asked.budget)
        apart = [record for record in others if not (session and _worked_for(db, record.session, session.id))]
        return (own or apart or ([] if has_said else others))[:1]

    records: dict[Section, tuple[Record, ...]] = {
        section: tuple(some(kinds[0], None if section is Section.CONSTRAINTS else asked.budget))
        for section, kinds in _KINDS.items()
        if section not in (Section.FOCUS, Section.RELATION, Section.NOTES)
    }
    records[Section.LOOPS] = tuple(sorted(records[Section.LOOPS], key=lambda record: (record.created_at, record.id)))
    for section in (Section.FOCUS, Section.RELATION):
        records[section] = tuple(record for kind in _KINDS[section] for record in single(kind))
    shown = {record.id for record in inferred}
    records[Section.NOTES] = tuple(record for record in some(RecordType.NOTE, _NOTES) if record.id not in shown)
    more = _more(db, places, records)
    # What was inferred of the session before is where the work stands, as far as anybody knows.
    records[Section.FOCUS] += inferred
    more[Section.NOTES] = max(0, more[Section.NOTES] - sum(record.project in places for record in inferred))
    return records, more


def _worked_for(db: sqlite3.Connection, worker: str | None, session: str) -> bool:
    found = sessions.get(db, worker) if worker else None
    return found is not None and session in found.line


def _more(
    db: sqlite3.Connection, places: list[str | None], records: dict[Section, tuple[Record, ...]]
) -> dict[Section, int]:
    """How many there are of each section beside those that were read. What the session before left in another project is beside
    them too."""
    totals = [packets.counts(db, place) for place in places]
    found: dict[Section, int] = {}
    for section, kinds in _KINDS.items():
        total = sum(counts.get(kind, 0) for counts in totals for kind in kinds)
        found[section] = max(0, total - sum(record.project in places for record in records[section]))
    return {**found, Section.CONSTRAINTS: 0}


def _since(db: sqlite3.Connection, asked: Question, session: Session | None, before: Before | None) -> Since:
    if session is None or before is None:
        return Since()
    git: dict[str, Any] = (
        session.state.ending.summary.get("git") if isinstance(session.state, HasEnded) else None
    ) or {}
    then = str(git.get("head") or "") or None
    if asked.project is None:
        return Since(then)
    ids, count = packets.ended_since(db, asked.project, before.at, (session.id, asked.reader), _GONE)
    found = [one for one in (sessions.get(db, identifier) for identifier in ids) if one is not None]
    return Since(then, None, tuple(_gone(db, one) for one in found), count - len(found))


def _gone(db: sqlite3.Connection, session: Session) -> Gone:
    close = close_of(session, handed_off=_handed_off(handoffs.of_session(db, session.id)))
    return Gone(session.name, session.id, session.ended_at or 0.0, close)
