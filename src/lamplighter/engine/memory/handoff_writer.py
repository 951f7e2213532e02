"""Handing off: what a session leaves to the next becomes records, all of them or none, and the same content only once.

Texts are cleaned of secrets, and what they cite is looked at, before the transaction; in it nothing waits. Knows records and
hand-offs; who may hand off is not asked here, only whose a loop is that is closed with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from dataclasses import fields, replace
from typing import Any

from lamplighter.domain.memory.handoff import Draft, Handoff, best
from lamplighter.domain.memory.record import (
    KEPT_AS,
    NO_EVIDENCE,
    SINGULAR,
    Ids,
    Record,
    RecordEvidence,
    RecordState,
    RecordType,
    Source,
)
from lamplighter.domain.permission import Caller, check_record
from lamplighter.domain.session import Session
from lamplighter.domain.text.redaction import redact
from lamplighter.domain.text.search_text import normalised
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.projects import Project
from lamplighter.engine.repo.evidence import cite_all
from lamplighter.errors import Code, Hint, MissingError, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import events, handoffs, records

_LASTING = frozenset(RecordType) - SINGULAR - {RecordType.NOTE}
_MOST_NAMED = 100  # loops that a hand-off names of those that it leaves open
_BY_ID = ("resolved_loops", "dropped_loops", "policy", "project")


@dataclass(frozen=True)
class Prepared:
    """A hand-off that is ready to be written. `session` is whose it is, `project` which one it is about. `wordings` are its texts
    as they are searched, which takes time to make; none where that is left to whoever writes them."""

    draft: Draft
    session: Session
    project: Project
    by: Caller
    source: Source
    ending: bool
    basis: tuple[str, ...]
    evidence: tuple[RecordEvidence, ...]
    redacted: int
    withheld: int
    wordings: tuple[str, ...] = ()


class HandoffWriter:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def prepare(
        self,
        draft: Draft,
        session: Session,
        project: Project,
        by: Caller,
        source: Source,
        *,
        ending: bool = False,
        basis: tuple[str, ...] = (),
    ) -> Prepared:
        """All that takes time: in a thread, before anything is changed."""

        def work() -> Prepared:
            cleaned, redacted, withheld = _cleaned(draft)
            texts = [text for _, text in cleaned.items()]
            inferred = source is Source.INFERRED  # says what was there then, and rests on nothing that may change
            found = tuple(NO_EVIDENCE for _ in texts) if inferred else tuple(cite_all(session.cwd, texts))
            wordings = tuple(map(normalised, texts))
            return Prepared(cleaned, session, project, by, source, ending, basis, found, redacted, withheld, wordings)

        return await asyncio.to_thread(work)

    async def store(self, prepared: Prepared) -> Handoff:
        """By itself, ending nothing."""

        def change(db: sqlite3.Connection) -> Handoff:
            return self.write(db, prepared)

        return await self.registry.write(change, must=True)  # its author may be about to go

    async def left_by(self, session: str, given: Prepared | None = None) -> Handoff | None:
        """What a session handed over: this very content, else the last that it left, somebody's own words before inferred."""
        if given is not None:
            return await self.registry.store.get(lambda db: handoffs.find(db, session, given.draft.digest()))
        return best(await self.registry.store.get(lambda db: handoffs.of_session(db, session)))

    def write(self, db: sqlite3.Connection, prepared: Prepared) -> Handoff:
        """In the caller's transaction. What was stored before with the same content is what comes back."""
        draft, session = prepared.draft, prepared.session
        digest = draft.digest()
        known = handoffs.find(db, session.id, digest)
        if known is not None and known.project != prepared.project.id:  # the same words, about another project
            digest = hashlib.sha256(f"{digest}\n{prepared.project.id}".encode()).hexdigest()
            known = handoffs.find(db, session.id, digest)
        if known is not None:
            return known
        now = self.registry.clock.now()
        handoff = Handoff(
            id=self.registry.ids.new("h", now),
            session=session.id,
            project=prepared.project.id,
            at=now,
            by=prepared.by.name,
            source=prepared.source,
            digest=digest,
            policy=draft.policy,
            ending=prepared.ending,
            reason=draft.reason,
            epitaph=draft.epitaph,
            transcript_path=draft.transcript_path,
            summary=draft.summary,
            basis=prepared.basis,
            redacted=prepared.redacted,
            withheld=prepared.withheld,
        )
        resolved = _close_loops(db, draft.resolved_loops, handoff, prepared.by, "resolved")
        dropped = _close_loops(db, draft.dropped_loops, handoff, prepared.by, "dropped")
        prepared.project.see(db, now)
        carried, count = ((), 0) if handoff.inferred else records.open_loops(db, handoff.project, _MOST_NAMED)
        stored = _insert(db, prepared, handoff, self.registry.ids)
        counts: dict[str, int] = {}
        for record in stored:
            counts[record.type.value] = counts.get(record.type.value, 0) + 1
        handoff = replace(
            handoff,
            stored=counts,
            records=tuple(record.id for record in stored),
            resolved=resolved,
            dropped=dropped,
            carried=carried,
            carried_count=count,
        )
        handoffs.insert(db, handoff)
        detail: dict[str, Any] = {"handoff": handoff.id, "stored": counts, "source": handoff.source.value}
        if not handoff.inferred:  # which is a part of its end, and that leaves an event
            events.append(db, now, session.id, prepared.by.name, "handed off", **detail)
        return handoff


def _cleaned(draft: Draft) -> tuple[Draft, int, int]:
    """Without secrets and what is private; a text of which nothing is left is no text. Counts what was taken out."""
    counts = [0, 0]

    def clean(text: str) -> str:
        found = redact(text)
        counts[0] += found.secrets
        counts[1] += found.private
        return found.text.strip()

    changes: dict[str, Any] = {}
    for name in (each.name for each in fields(draft) if each.name not in _BY_ID):
        value: str | tuple[str, ...] | None = getattr(draft, name)
        if isinstance(value, tuple):
            changes[name] = tuple(text for text in map(clean, value) if text)
        elif value is not None:
            changes[name] = clean(value) or ("" if name == "reason" else None)
    return replace(draft, **changes), counts[0], counts[1]


def _insert(db: sqlite3.Connection, prepared: Prepared, handoff: Handoff, ids: Ids) -> list[Record]:
    """Each text that is not in force already, word for word. What there is one of replaces what was there before; what is
    inferred is about this session alone."""
    stored: list[Record] = []
    wordings = prepared.wordings or (None,) * len(prepared.evidence)
    for (kind, text), evidence, wording in zip(prepared.draft.items(), prepared.evidence, wordings, strict=True):
        if kind in _LASTING and records.in_force(db, prepared.project.id, kind, text):
            continue
        category, importance = KEPT_AS[kind]
        record = Record(
            id=ids.new("r", handoff.at),
            type=kind,
            content=text,
            category=category,
            importance=importance,
            created_at=handoff.at,
            by=handoff.by,
            source=handoff.source,
            project=handoff.project,
            session=handoff.session,
            handoff=handoff.id,
            evidence=evidence,
        )
        if kind in SINGULAR:
            record = replace(record, supersedes=_replace_older(db, prepared.session, record))
        records.insert(db, record, wording)
        stored.append(record)
    return stored


def _replace_older(db: sqlite3.Connection, session: Session, record: Record) -> str | None:
    """The same session's, and that of the session which it went on from, are superseded; others' are theirs."""
    older = [
        found
        for theirs in (session.predecessor, session.id)
        if theirs is not None
        for found in records.left_by(db, theirs, record.type, record.project)
    ]
    for found in older:
        records.close(db, found, RecordState.SUPERSEDED, record.created_at, record.by, superseded_by=record.id)
    return older[-1] if older else None


def _close_loops(
    db: sqlite3.Connection, loops: tuple[str, ...], handoff: Handoff, by: Caller, how: str
) -> tuple[str, ...]:
    """FORBIDDEN, and nothing is stored, when one is not the caller's to close."""
    closed: list[str] = []
    for word in loops:
        loop = find_loop(db, word)
        if loop.active:
            check_record(by, loop)
            records.close(db, loop.id, RecordState.RESOLVED, handoff.at, handoff.by, how)
        closed.append(loop.id)
    return tuple(closed)


def find_loop(db: sqlite3.Connection, word: str) -> Record:
    """An open loop, or one that was, by its id or the unique beginning of it."""
    found = [record for record in records.by_prefix(db, word) if record.type is RecordType.OPEN_LOOP] if word else []
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(record.id for record in found)
        raise MissingError(
            Code.AMBIGUOUS, f"{word} begins more than one open loop's id: {shown}", "give more of the id"
        )
    raise MissingError(
        Code.NOT_FOUND,
        f"there is no open loop {word[:60]!a}, and nothing was stored",
        Hint(Use("records", types="open_loop"), " lists those that there are; give the id of each that is done"),
    )
