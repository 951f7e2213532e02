"""The last account of a session: its summary, and the hand-off that is inferred when nobody wrote one.

Everything is gathered before the transaction that ends the session and written in it, so that no session ends without. What
cannot be had (a repository that hangs, a log that is gone) is left out; it never keeps an end from being recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from lamplighter.agents.formats.transcript import Transcript, format_of
from lamplighter.domain.ending import Certificate, Ending, Guarantee, How
from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.record import NO_EVIDENCE, Source
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Session
from lamplighter.domain.states import intent_of
from lamplighter.domain.text.redaction import redact_document
from lamplighter.engine.agents_io import transcripts
from lamplighter.engine.agents_io.conversation_finder import ConversationFinder
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import persist
from lamplighter.engine.end.final_summary import as_text, summarise
from lamplighter.engine.memory.handoff_writer import HandoffWriter, Prepared
from lamplighter.engine.memory.inferred_handoff import MOST_LINES, infer
from lamplighter.engine.memory.projects import Project, identity_of
from lamplighter.engine.repo.repository import Changes
from lamplighter.engine.repo.shared_looks import Repositories
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import handoffs, recall

T = TypeVar("T")
log = logging.getLogger(__name__)
_SECONDS = 5.0
_MOST_TRIES = 5


class _OvertakenError(Exception):
    """Something was handed over after the account was made up."""


@dataclass(frozen=True)
class FinalWords:
    """What is written with a session's end. `known`: the hand-offs that it takes account of, None when that does not matter."""

    handoff_writer: HandoffWriter
    session: str
    summary: dict[str, Any]
    inferred: Prepared | None
    known: frozenset[str] | None = None

    def write(self, db: sqlite3.Connection) -> None:
        if self.known is not None and self.known != _ids(handoffs.of_session(db, self.session)):
            raise _OvertakenError(self.session)
        if self.inferred is not None:
            self.handoff_writer.write(db, self.inferred)
        left = [handoff.summary for handoff in handoffs.of_session(db, self.session) if handoff.summary]
        recall.keep_summary(db, self.session, "\n".join([*left, as_text(self.summary)]))


@dataclass(frozen=True)
class _Seen:
    """What could be found of a session."""

    transcript: Transcript | None
    changes: Changes | None
    screen: list[str]


class FinalReport:
    def __init__(self, registry: SessionRegistry, backends: Backends, conversation_finder: ConversationFinder) -> None:
        self.registry = registry
        self.backends = backends
        self.conversation_finder = conversation_finder
        self.handoff_writer = HandoffWriter(registry)
        self.repositories = Repositories(registry.settings.home.run)

    async def part(
        self,
        session: Session,
        ending: Ending,
        usage: Mapping[str, Any],
        save: Callable[[dict[str, Any], Callable[[sqlite3.Connection], None] | None], Awaitable[None]],
    ) -> None:
        """Have the end saved with its summary and, in the same transaction, the last account. What is handed over while that is
        made up is in it too. A fault costs the account, never the record of the end."""
        given = await self._given(session)
        seen = await self._look(session, ending.at, given)
        for _ in range(_MOST_TRIES):
            parting = await self._prepared(session, ending, given, seen, usage)
            try:
                return await save(parting.summary, parting.write)
            except _OvertakenError:
                given = await self._given(session)
            except Exception:
                log.exception("%s: its last account cannot be kept", session.id)
                break
        bare = self._bare(session, ending, given)
        try:
            await save(bare.summary, replace(bare, known=None).write)
        except Exception:
            log.exception("%s: its end is recorded without a hand-off", session.id)
            await save(bare.summary, None)

    async def _prepared(
        self, session: Session, ending: Ending, given: list[Handoff], seen: _Seen, usage: Mapping[str, Any]
    ) -> FinalWords:
        try:
            return await self._parting(session, ending, given, seen, usage)
        except Exception:
            log.exception("%s: its last account says only how it ended", session.id)
            return self._bare(session, ending, given)

    async def _parting(
        self, session: Session, ending: Ending, given: list[Handoff], seen: _Seen, usage: Mapping[str, Any]
    ) -> FinalWords:
        inferred = None if _was_told(given) else await self._infer(session, ending, seen)
        summary = await self._summary(session, ending, given, inferred, seen, usage)
        return FinalWords(self.handoff_writer, session.id, summary, inferred, _ids(given))

    def _bare(self, session: Session, ending: Ending, given: list[Handoff]) -> FinalWords:
        """With nothing in it that would have to be looked through for secrets."""
        draft, basis = infer(session, replace(ending, reason=""))
        project = Project(session.project_id or session.cwd, session.project)
        evidence = tuple(NO_EVIDENCE for _ in draft.items())
        inferred = Prepared(draft, session, project, DAEMON, Source.INFERRED, True, basis, evidence, 0, 0)
        summary = summarise(session, replace(ending, reason=""), handoff=_together(given, inferred))
        return FinalWords(self.handoff_writer, session.id, summary, None if _was_told(given) else inferred, _ids(given))

    async def provisional(self, session: Session) -> dict[str, Any]:
        """So far, for one that ends itself and will not be there to hear the rest."""
        intent = intent_of(session.state)
        assert intent is not None
        nothing = Certificate(Guarantee.BEST_EFFORT, 0.0)
        ending = Ending(self.registry.clock.now(), intent.by, intent.reason, How.ASKED, None, nothing)
        given = await self._given(session)
        seen = await self._look(session, ending.at, given)
        return await self._summary(session, ending, given, None, seen, {})

    async def _given(self, session: Session) -> list[Handoff]:
        def find() -> Awaitable[list[Handoff]]:
            return self.registry.store.get(lambda db: handoffs.of_session(db, session.id))

        return await persist(find, f"what {session.id} handed over")

    async def follow(self, session: Session) -> None:
        """Which conversation it is in, as long as it can be seen."""
        await self._patiently(self.conversation_finder.follow(session, 0.0), session, session)

    async def _look(self, session: Session, until: float, given: list[Handoff]) -> _Seen:
        named = next((handoff.transcript_path for handoff in reversed(given) if handoff.transcript_path), None)
        session = await self._patiently(self.conversation_finder.follow(session, 0.0), session, session)
        said, changes, screen = await asyncio.gather(
            self._patiently(self._said(session, until, named), session, None),
            self._patiently(self._changes(session), session, None),
            self._patiently(self.backends.of(session).last_lines(session, MOST_LINES), session, cast("list[str]", [])),
        )
        return _Seen(said, changes, screen)

    async def _said(self, session: Session, until: float, named: str | None) -> Transcript | None:
        """What it said, by its transcript. One that only folder and time speak for is not taken from another session."""
        form = format_of(session.agent)
        followed = session.shim is not None and form is not None and form.lazy
        found = await transcripts.of_session(session, until, named, followed=followed)
        if found is None or named or session.conversation or found.conversation is None:
            return found
        owner = await self.conversation_finder.conversations.session_in(session.agent, found.conversation)
        return found if owner in (None, session.id) else None

    async def _infer(self, session: Session, ending: Ending, seen: _Seen) -> Prepared:
        draft, basis = infer(session, ending, seen.transcript, seen.changes, seen.screen)
        project = await asyncio.to_thread(_project, session)
        return await self.handoff_writer.prepare(
            draft, session, project, DAEMON, Source.INFERRED, ending=True, basis=basis
        )

    async def _summary(
        self,
        session: Session,
        ending: Ending,
        given: list[Handoff],
        inferred: Prepared | None,
        seen: _Seen,
        usage: Mapping[str, Any],
    ) -> dict[str, Any]:
        summary = summarise(
            session,
            ending,
            handoff=_together(given, inferred),
            transcript=seen.transcript,
            changes=seen.changes,
            screen=seen.screen,
            cpu=usage.get("cpu"),
            memory=usage.get("memory"),
        )
        return cast("dict[str, Any]", await asyncio.to_thread(redact_document, summary))

    async def _changes(self, session: Session) -> Changes | None:
        """Only of one that was there when it started: what was changed before it is not its work."""
        head = session.facts.head
        if head is None:
            return None
        return await self.repositories.changes(session.cwd, head, started_at=session.created_at)

    async def _patiently(self, work: Awaitable[T], session: Session, otherwise: T) -> T:
        """What takes too long or fails is left out, and the log says so: an end is recorded in any case."""
        try:
            return await asyncio.wait_for(work, _SECONDS)
        except Exception:
            log.exception("%s: a part of its last account is left out", session.id)
            return otherwise


def _project(session: Session) -> Project:
    """Also of one from before projects were told apart, whatever has become of its folder."""
    if session.project_id is None:
        with contextlib.suppress(TimeoutError):
            return answered(session.cwd, lambda: identity_of(session.cwd), _SECONDS)
    return Project(session.project_id or session.cwd, session.project)


def _ids(given: list[Handoff]) -> frozenset[str]:
    return frozenset(handoff.id for handoff in given)


def _was_told(given: list[Handoff]) -> bool:
    """Whether somebody said at its end what it leaves."""
    return any(handoff.ending and handoff.records for handoff in given)


def _together(given: list[Handoff], inferred: Prepared | None) -> Handoff | None:
    """All that was handed over, as if at once."""
    said = [handoff for handoff in given if not handoff.inferred]
    if not said:
        notes = len(inferred.draft.items()) if inferred else 0
        if inferred is None or not notes:
            return None
        return Handoff(
            "",
            inferred.session.id,
            None,
            0.0,
            DAEMON.name,
            Source.INFERRED,
            "",
            stored={inferred.draft.items()[0][0]: notes},
        )
    stored = Counter[str]()
    for handoff in said:
        stored.update(handoff.stored)
    return replace(
        said[-1],
        stored=dict(stored),
        resolved=tuple({loop for handoff in said for loop in handoff.resolved}),
        dropped=tuple({loop for handoff in said for loop in handoff.dropped}),
    )
