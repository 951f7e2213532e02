"""Packing: what a packet is made of, gathered from the store and the folder, and a receipt of what was delivered to whom.

Reading a packet claims nothing and changes no record. Knows where things are kept; how a packet is written is the domain's.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from lamplighter.domain.handoff import Handoff, Policy
from lamplighter.domain.ingredients import Before, Gone, Ingredients, Section, Since
from lamplighter.domain.packet import FITTING, SMALLEST_LINE, Packet, build, fitting
from lamplighter.domain.permission import Caller
from lamplighter.domain.record import Record, RecordType, new_id
from lamplighter.domain.session import Kind, Session
from lamplighter.errors import Code, InputError, MissingError, UnavailableError
from lamplighter.lifecycle.closing import close_of
from lamplighter.lifecycle.evidence import stale_all
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.repository import head
from lamplighter.store import handoffs, packets, sessions

log = logging.getLogger(__name__)
LAST = "last"
_NOTES = 40
_GONE = 5
_HANDOFFS = 20
_LISTED = {
    Section.LOOPS: RecordType.OPEN_LOOP,
    Section.WARNINGS: RecordType.WARNING,
    Section.DECISIONS: RecordType.DECISION,
    Section.PREFERENCES: RecordType.PREFERENCE,
}


@dataclass(frozen=True)
class Wish:
    """What is asked for. `session` names who came before; `folder` is where the caller is."""

    session: str | None = None
    project: str | None = None
    folder: str | None = None
    prompt: str | None = None
    budget: int = 0


@dataclass(frozen=True)
class Delivered:
    """A packet, its second part if a prompt was given, and the receipt; `kept` is False when there was no room for that."""

    packet: Packet
    fitting: Packet | None
    before: Before | None
    project_name: str | None
    receipt: dict[str, Any]
    kept: bool

    @property
    def text(self) -> str:
        return self.packet.text + (self.fitting.text if self.fitting else "")


@dataclass(frozen=True)
class _Found:
    """Who came before: the session, if it was one, and the hand-offs that count."""

    session: Session | None
    newest: Handoff | None
    policy: Policy | None
    closed: bool


class Packing:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    async def deliver(self, wish: Wish, caller: Caller) -> Delivered:
        """The packet for whoever asks, and its receipt."""
        if wish.prompt is not None and not wish.prompt.strip():
            raise InputError(Code.BAD_INPUT, "the first prompt is empty", "say what the session is about, or leave it out")
        mine = await self.fleet.find(caller.session) if caller.session else None
        named = await self._named(wish, mine)
        project = await self._project(wish, named, mine)
        now = self.fleet.clock.now()
        identifier = new_id("p", now)
        but = caller.session
        what, found = await self.fleet.store.read(
            lambda db: _gather(db, identifier, now, project, named.id if named else None, but, wish.budget)
        )
        what = await asyncio.to_thread(_look, what, found)
        packet = await asyncio.to_thread(build, what, wish.budget)
        second = await self._fitting(identifier, project, wish.prompt, packet) if wish.prompt else None
        receipt = _receipt(what, found, project, caller, wish.budget, packet, second)
        return Delivered(packet, second, what.before, what.project, receipt, await self._keep(receipt))

    async def _named(self, wish: Wish, mine: Session | None) -> Session | None:
        """The session before, when it was said, or when the caller's own goes on from one."""
        if wish.session and wish.session != LAST:
            return await self.fleet.find(wish.session)
        if wish.project is None and mine is not None and mine.predecessor:
            return await self.fleet.find(mine.predecessor)
        return None

    async def _project(self, wish: Wish, named: Session | None, mine: Session | None) -> str | None:
        if wish.project is not None:
            return await self._identity(wish.project)
        if named is not None:
            left = await self.fleet.store.get(lambda db: handoffs.of_session(db, named.id))
            return left[-1].project if left else named.project_id
        return mine.project_id if mine is not None else None

    async def _identity(self, word: str) -> str:
        found = await self.fleet.store.get(lambda db: handoffs.projects_named(db, word))
        if len(found) > 1 and word not in (identity for identity, _ in found):
            shown = ", ".join(identity for identity, _ in found[:5])
            raise MissingError(Code.AMBIGUOUS, f"{word[:60]!a} is the name of more than one project: {shown}", "give one of these")
        return found[0][0] if len(found) == 1 else word

    async def _fitting(self, identifier: str, project: str | None, prompt: str, packet: Packet) -> Packet:
        known = set(packet.included)
        most = FITTING // SMALLEST_LINE // 2
        found = await self.fleet.store.read(lambda db: packets.fitting(db, project, prompt, most + len(known)))
        fresh = tuple(record for record in found if record.id not in known)[:most]
        return await asyncio.to_thread(lambda: fitting(identifier, fresh, _stale(fresh)))

    async def _keep(self, receipt: dict[str, Any]) -> bool:
        """A packet is worth more than its receipt: on a full disk it is delivered all the same, and the log says so."""
        try:
            await self.fleet.store.write(lambda db: packets.keep_receipt(db, receipt))
        except UnavailableError as error:
            log.error("the receipt of %s for %s is not kept: %s", receipt["packet"], receipt["caller"], error)
            return False
        return True


# -- from the store


def _gather(
    db: sqlite3.Connection, identifier: str, now: float, project: str | None, named: str | None, but: str | None, budget: int
) -> tuple[Ingredients, _Found]:
    found = _before(db, project, named, but)
    left = packets.left_by(db, found.session.id) if found.session else []
    records, more = _records(db, project, left, budget)
    before = _described(found)
    what = Ingredients(
        packet=identifier,
        now=now,
        project=handoffs.project_name(db, project) if project else None,
        before=before,
        records=records,
        more=more,
        since=_since(db, project, before, found.session, but),
    )
    return what, found


def _before(db: sqlite3.Connection, project: str | None, named: str | None, but: str | None) -> _Found:
    if named is None:
        newest = _newest(db, packets.newest_handoffs(db, project, but, _HANDOFFS))
        named = newest.session if newest else None
        if named is None:
            return _Found(None, newest, newest.policy if newest else None, closed=newest is not None)
    session, left = sessions.get(db, named), handoffs.of_session(db, named)
    policy = next((handoff.policy for handoff in reversed(left) if handoff.policy), None)
    return _Found(session, left[-1] if left else None, policy, any(h.ending and not h.inferred for h in left))


def _newest(db: sqlite3.Connection, found: list[Handoff]) -> Handoff | None:
    """The last, but what was inferred from a command in the foreground or from cron only where there is nothing else: who ran
    the tests once more did not take over the work."""
    for handoff in found:
        session = sessions.get(db, handoff.session) if handoff.inferred and handoff.session else None
        if session is None or not (session.bound or session.kind in (Kind.CRON, Kind.SYSTEM)):
            return handoff
    return found[0] if found else None


def _described(found: _Found) -> Before | None:
    session, newest = found.session, found.newest
    if session is None:
        return newest and Before(newest.by, None, None, newest.at, close_of(None, closed=True), found.policy)
    return Before(
        name=session.name,
        id=session.id,
        agent=session.agent,
        at=session.ended_at or (newest.at if newest else session.created_at),
        close=close_of(session, closed=found.closed),
        policy=found.policy,
        inferred=newest is not None and newest.inferred and not found.closed,
        alive=session.alive,
    )


def _records(
    db: sqlite3.Connection, project: str | None, left: list[Record], budget: int
) -> tuple[dict[Section, tuple[Record, ...]], dict[Section, int]]:
    """What can fit of each section, and how many there are beside that."""
    places = [project, None] if project is not None else [None]
    totals = [packets.counts(db, place) for place in places]
    most = budget // SMALLEST_LINE + 1

    def of(kind: RecordType, *, oldest: bool = False, limit: int = most) -> list[Record]:
        query = packets.first if oldest else packets.newest
        return [record for place in places for record in query(db, place, kind, limit)]

    def single(kind: RecordType) -> list[Record]:
        """What the session before left; else the newest that there is."""
        return ([record for record in left if record.type is kind] or of(kind, limit=1))[:1]

    inferred = [record for record in left if record.type is RecordType.NOTE]
    shown = {record.id for record in inferred}
    loops = sorted(of(RecordType.OPEN_LOOP, oldest=True), key=lambda record: (record.created_at, record.id))
    records = {
        Section.CONSTRAINTS: of(RecordType.CONSTRAINT, oldest=True, limit=-1),
        Section.FOCUS: [*single(RecordType.NEXT_SESSION_FOCUS), *single(RecordType.CHECKPOINT), *inferred],
        Section.LOOPS: loops,
        **{section: of(kind) for section, kind in _LISTED.items() if section is not Section.LOOPS},
        Section.RELATION: single(RecordType.RELATIONAL_DELTA),
        Section.NOTES: [record for record in of(RecordType.NOTE, limit=_NOTES) if record.id not in shown],
    }
    kinds = {
        Section.FOCUS: (RecordType.NEXT_SESSION_FOCUS, RecordType.CHECKPOINT),
        Section.RELATION: (RecordType.RELATIONAL_DELTA,),
        Section.NOTES: (RecordType.NOTE,),
        **{section: (kind,) for section, kind in _LISTED.items()},
    }
    more = {section: sum(total.get(kind, 0) for total in totals for kind in kinds[section]) - len(records[section]) for section in kinds}
    more[Section.FOCUS] += len(inferred)
    more[Section.NOTES] -= len(inferred)
    return {section: tuple(found) for section, found in records.items()}, {s: max(0, n) for s, n in more.items()}


def _since(
    db: sqlite3.Connection, project: str | None, before: Before | None, session: Session | None, but: str | None
) -> Since:
    if before is None or project is None:
        return Since()
    ids, count = packets.ended_since(db, project, before.at, (before.id, but), _GONE)
    found = [session for session in (sessions.get(db, one) for one in ids) if session is not None]
    gone = tuple(Gone(one.name, one.id, one.ended_at or 0.0, close_of(one, closed=_closed(db, one))) for one in found)
    git: dict[str, Any] = (session.ending.summary.get("git") if session and session.ending else None) or {}
    return Since(git.get("head") or None, None, gone, count - len(gone))


def _closed(db: sqlite3.Connection, session: Session) -> bool:
    return any(handoff.ending and not handoff.inferred for handoff in handoffs.of_session(db, session.id))


# -- from the folder


def _look(what: Ingredients, found: _Found) -> Ingredients:
    """What the files and git say now. Blocks; for a thread."""
    at = head(found.session.cwd) if found.session else None
    every = [record for section in what.records.values() for record in section]
    since = replace(what.since, head_now=at.sha or None if at else None)
    return replace(what, stale=_stale(every), since=since)


def _stale(records: Iterable[Record]) -> dict[str, tuple[str, ...]]:
    citing = [record for record in records if record.evidence]
    if not citing:
        return {}
    found = stale_all([record.evidence for record in citing])
    return {record.id: tuple(phrases) for record, phrases in zip(citing, found, strict=True) if phrases}


def _receipt(
    what: Ingredients, found: _Found, project: str | None, caller: Caller, budget: int, packet: Packet, second: Packet | None
) -> dict[str, Any]:
    both = [packet, *([second] if second else [])]
    whole = Packet("".join(part.text for part in both))
    return {
        "packet": what.packet,
        "at": what.now,
        "caller": caller.name,
        "session": caller.session,
        "predecessor": found.session.id if found.session else None,
        "handoff": found.newest.id if found.newest else None,
        "project": project,
        "budget": budget,
        "included": list(packet.included),
        "fitting": list(second.included) if second else [],
        "cuts": {name: count for part in both for name, count in part.cuts.items()},
        "shortened": {name: count for part in both for name, count in part.shortened.items()},
        "characters": whole.characters,
        "bytes": whole.bytes,
        "digest": whole.digest,
    }
