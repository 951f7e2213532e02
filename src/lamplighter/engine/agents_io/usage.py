"""Tokens that sessions have used, by their agents' transcripts: counted when somebody looks or the patrol passes, and kept.

What is kept is shown in listings, which read nothing. A transcript is counted on from where it was counted to, and not looked
into while it is as it was. Knows no agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import field

from lamplighter.agents.formats import transcript_pages
from lamplighter.agents.formats.transcript import format_of
from lamplighter.agents.formats.transcript_pages import Tally
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded
from lamplighter.engine.agents_io.transcript_reader import Chapter, TranscriptReader
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import DeadlineError
from lamplighter.lazy_dataclass import dataclass


@dataclass
class _Account:
    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    signatures: dict[str, object] = field(default_factory=dict[str, object])
    total: dict[str, int] = field(default_factory=dict[str, int])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Usage:
    def __init__(self, registry: SessionRegistry, transcript_reader: TranscriptReader) -> None:
        self.registry = registry
        self.transcript_reader = transcript_reader
        self._accounts: dict[str, _Account] = {}
        self._printed: dict[str, int | None] = {}

    def known(self, session: Session) -> dict[str, int] | None:
        """What was counted last; of an ended session, what its last account says."""
        if isinstance(session.state, HasEnded):
            return session.state.ending.summary.get("tokens")
        account = self._accounts.get(session.id)
        return (account.total or None) if account else None

    async def count(self, session: Session) -> None:
        """Up to now. A disk that does not answer leaves it as it was."""
        if format_of(session.transcript_form) is None or not session.alive:
            return
        account = self._accounts.setdefault(session.id, _Account())
        try:
            chapters = await self.transcript_reader.chapters(session)
            async with account.lock:
                await self.transcript_reader.patiently(
                    session, lambda: _count(account, session.transcript_form, chapters)
                )
        except DeadlineError:
            return

    async def round(self, sessions: Iterable[Session]) -> None:
        """For the patrol: those that have printed something since they were last counted, or may have."""
        for session in sessions:
            reading = self.registry.reading(session.id)
            printed = reading.offset if reading else None
            if format_of(session.transcript_form) and (printed is None or self._printed.get(session.id) != printed):
                self._printed[session.id] = printed
                await self.count(session)
        self._printed = {name: seen for name, seen in self._printed.items() if name in self.registry.live_sessions}
        self._accounts = {name: one for name, one in self._accounts.items() if name in self.registry.live_sessions}


def _count(account: _Account, form: str, chapters: list[Chapter]) -> None:
    for path in {chapter.path for chapter in chapters if chapter.path}:
        now = transcript_pages.signature(path)
        if account.signatures.get(path) != now:
            tally = account.tallies.setdefault(path, Tally(path, form))
            tally.count()
            account.signatures[path] = now
    kinds = dict.fromkeys(kind for tally in account.tallies.values() for kind in tally.total)
    account.total = {kind: sum(tally.total.get(kind, 0) for tally in account.tallies.values()) for kind in kinds}
