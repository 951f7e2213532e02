"""Packing: the packet for whoever starts or asks, and a receipt of what was delivered to whom.

Reading a packet claims nothing and changes no record. Knows who asks, and for what project; what goes into a packet is
`gathering`'s.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from dataclasses import replace
from typing import Any

from lamplighter.domain.memory.packet import BUDGET, Packet, build, fitting
from lamplighter.domain.memory.packet_parts import Before
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.packet_query import Gathered, Question, gather, look, stale
from lamplighter.engine.memory.projects import Project, Projects
from lamplighter.errors import Code, InputError, UnavailableError
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import handoffs, packets

log = logging.getLogger(__name__)
LAST = "last"
_MOST_FITTING = 50


@dataclass(frozen=True)
class BuiltPacket:
    """A packet, with a second part when a prompt was given. `receipt` is what is kept of it."""

    text: str
    first: Packet
    second: Packet | None
    before: Before | None
    project_name: str | None
    receipt: dict[str, Any]

    def keep_receipt(self, db: sqlite3.Connection, session: str | None = None) -> None:
        """To whom it was delivered: whoever asked, or the session that starts with it. In the caller's transaction."""
        packets.keep_receipt(db, {**self.receipt, "session": session} if session else self.receipt)


class PacketBuilder:
    def __init__(self, registry: SessionRegistry, projects: Projects) -> None:
        self.registry = registry
        self.projects = projects

    async def deliver(
        self,
        caller: Caller,
        *,
        session: str | None,
        project: str | None,
        folder: str | None,
        budget: int,
        query: str | None,
        preview: bool = False,
    ) -> tuple[BuiltPacket, bool]:
        """The packet for whoever asks, and whether its receipt is kept. On a full disk it is delivered all the same; one that is
        only looked at is delivered to nobody."""
        mine = await self.registry.find(caller.session) if caller.session else None
        before = await self._before(session, project, mine)
        about = await self.projects.resolve(project, folder, new=True) if project is not None else None
        if about is None and before is None:
            about = await self.projects.of_caller(caller, folder)
        packed = await self.pack(caller, predecessor=before, project=about, budget=budget, query=query)
        if preview:
            return packed, False
        try:
            await self.registry.store.write(packed.keep_receipt)
        except UnavailableError as error:
            log.error("the receipt of %s for %s is not kept: %s", packed.receipt["packet"], caller.name, error)
            return packed, False
        return packed, True

    async def pack(
        self,
        caller: Caller,
        *,
        predecessor: Session | None = None,
        project: Project | None = None,
        budget: int | None = None,
        query: str | None = None,
    ) -> BuiltPacket:
        """What comes from a session, or from the last of a project; nothing is kept of it yet."""
        if query is not None and not query.replace("\0", " ").strip():
            raise InputError(
                Code.BAD_INPUT, "the first prompt is empty", "say what the session is about, or leave it out"
            )
        identity = project.id if project else await self._project_of(predecessor) if predecessor else None
        now = self.registry.clock.now()
        named = predecessor.id if predecessor else None
        packet, called = self.registry.ids.new("p", now), project.label if project else None
        asked = Question(packet, now, identity, named, caller.session, budget or BUDGET, called)
        found = await self.registry.store.read(lambda db: gather(db, asked))
        first = await asyncio.to_thread(_build, found, asked.budget)
        second = await self._fitting(asked, query, first) if query else None
        text = first.text + (second.text if second else "")
        receipt = _receipt(asked, found, caller, text, first, second)
        return BuiltPacket(text, first, second, found.what.before, found.what.project, receipt)

    async def _fitting(self, asked: Question, query: str, first: Packet) -> Packet:
        known = frozenset(first.included)
        most = _MOST_FITTING + len(known)
        found = await self.registry.store.read(lambda db: packets.fitting(db, asked.project, query, most))
        fresh = tuple(record for record in found if record.id not in known)[:_MOST_FITTING]
        return await asyncio.to_thread(lambda: fitting(asked.packet, fresh, stale(fresh)))

    # -- who, and which

    async def _before(self, word: str | None, project: str | None, mine: Session | None) -> Session | None:
        """Who came before, when that was said, or when the caller's own session goes on from one."""
        if word is not None and word != LAST:
            return await self.registry.find(word)
        if word is None and project is None and mine is not None and mine.predecessor:
            return await self.registry.find(mine.predecessor)
        return None

    async def _project_of(self, session: Session) -> str | None:
        """That of the last hand-off, which may be about another than the session's own."""
        left = await self.registry.store.get(lambda db: handoffs.of_session(db, session.id))
        return left[-1].project if left else session.project_id


def _build(found: Gathered, budget: int) -> Packet:
    return build(look(found), budget)


def _receipt(
    asked: Question, found: Gathered, caller: Caller, text: str, first: Packet, second: Packet | None
) -> dict[str, Any]:
    parts = [first, *([second] if second else [])]
    whole = replace(first, text=text)
    return {
        "packet": asked.packet,
        "at": asked.at,
        "caller": caller.name,
        "session": caller.session,
        "predecessor": found.session.id if found.session else None,
        "handoff": found.handoff.id if found.handoff else None,
        "project": asked.project,
        "budget": asked.budget,
        "included": [identifier for part in parts for identifier in part.included],
        "cuts": {name: count for part in parts for name, count in part.cuts.items()},
        "shortened": {name: count for part in parts for name, count in part.shortened.items()},
        "characters": whole.characters,
        "bytes": whole.bytes,
        "digest": whole.digest,
    }
