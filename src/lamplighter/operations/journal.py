"""The audit log as views, and as it grows; to who follows it, changes of verdict too, which are never kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from lamplighter.domain.session import Session
from lamplighter.domain.verdict import Verdict
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.assessor import Assessment, Assessor
from lamplighter.operations.views.common import EventView, moment
from lamplighter.store import events
from lamplighter.store.events import Event

_LOOK_SECONDS = 1.0
_WITHOUT_NEWS = {(Verdict.UNKNOWN, Verdict.WORKING), (Verdict.WORKING, Verdict.UNKNOWN)}
"""From one to the other and back goes what was only not measured yet."""


class Journal:
    def __init__(self, registry: SessionRegistry, assessor: Assessor) -> None:
        self.registry = registry
        self.assessor = assessor

    async def events(self, session: Session | None, since: int, limit: int) -> list[EventView]:
        identifier = session.id if session else None
        found = await self.registry.store.read(lambda db: events.newest(db, identifier, since, limit))
        return [self._view(event) for event in found]

    async def follow(self, session: Session | None, since: int) -> AsyncIterator[EventView]:
        """Each event after `since`, for ever: none missing, none twice. Between them each change of verdict that is seen from now
        on."""
        verdicts: dict[str, Verdict] = {}
        while True:
            news = self.registry.news
            found = await self.events(session, since, 1_000_000)
            for event in found:
                since = event.n or since
                yield event
            if found:
                continue
            for change in await self._changes(session, verdicts):
                yield change
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _LOOK_SECONDS)

    async def _changes(self, session: Session | None, verdicts: dict[str, Verdict]) -> list[EventView]:
        """Whose verdict is not what it was at the look before; `verdicts` is brought up to date."""
        living = [
            live.session
            for live in self.registry.live_sessions.values()
            if session is None or live.session.id == session.id
        ]
        found = {one.session.id: one for one in await self.assessor.assess(living) if one.verdict is not Verdict.ENDED}
        changed = [
            self._change(before, found[name])
            for name, before in verdicts.items()
            if name in found and found[name].verdict is not before
            and (before, found[name].verdict) not in _WITHOUT_NEWS
        ]  # fmt: skip
        verdicts.clear()
        verdicts.update({name: one.verdict for name, one in found.items()})
        return changed

    def _change(self, before: Verdict, found: Assessment) -> EventView:
        return EventView(
            n=None,
            at=moment(self.registry.clock.now()) or "",
            session=found.session.id,
            name=found.session.name,
            by="lamplighter",
            action="verdict",
            detail={"was": before.value, "is": found.verdict.value, "because": next(iter(found.evidence), "")},
        )

    def _view(self, event: Event) -> EventView:
        return EventView.showing(event, name=event.name or event.detail.get("name"))
