"""The audit log as views, and as it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator

from lamplighter.domain.event import Event
from lamplighter.domain.session import Session
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.operations.views import EventView, moment
from lamplighter.store import events


class Journal:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    async def events(self, session: Session | None, since: int, limit: int) -> list[EventView]:
        identifier = session.id if session else None
        found = await self.fleet.store.read(lambda db: events.newest(db, identifier, since, limit))
        return [self._view(event) for event in found]

    async def follow(self, session: Session | None, since: int) -> AsyncIterator[EventView]:
        """Each event after `since`, for ever: none missing, none twice."""
        while True:
            news = self.fleet.news
            found = await self.events(session, since, 1_000_000)
            for event in found:
                since = event.n
                yield event
            if not found:
                await news.wait()

    def _view(self, event: Event) -> EventView:
        return EventView(
            n=event.n,
            at=moment(event.at) or "",
            session=event.session,
            name=event.name or event.detail.get("name"),
            by=event.by,
            action=event.action,
            detail=event.detail,
        )
