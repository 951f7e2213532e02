"""Keeping records and finding them again. Nothing is overwritten: a record is resolved, forgotten, or superseded by another.

Texts are cleaned of secrets before the transaction; each change is one transaction with its event, and events never have the
text. Knows records; who may is asked of the domain.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sqlite3
from dataclasses import replace
from typing import Any

from lamplighter.domain.memory.record import KEPT_AS, CitedFile, Record, RecordEvidence, RecordState, RecordType, Source
from lamplighter.domain.permission import Caller, Rank, check_record
from lamplighter.domain.text.redaction import redact
from lamplighter.domain.text.search_text import Query, storable
from lamplighter.engine.core.planned_command import PACKET
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.session_card import forget_words
from lamplighter.engine.memory.projects import Project
from lamplighter.engine.repo.evidence import cite
from lamplighter.engine.repo.files import fingerprint
from lamplighter.errors import Code, ConflictError, Hint, InputError, MissingError, UnavailableError, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import calls, events, hard_delete, recall, records
from lamplighter.store.calls import KeptCall
from lamplighter.store.recall import Filter, Summary

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordDraft:
    """What is to be stored, as it was given. None: as its type has it."""

    content: str
    type: RecordType = RecordType.NOTE
    category: str | None = None
    importance: int | None = None
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nature:
    """What kind of record takes the place of another. None: as that was."""

    type: RecordType | None = None
    category: str | None = None
    importance: int | None = None


@dataclass(frozen=True)
class StoredItems:
    """What came of storing: a record for each item, which of them are new, and what was taken out of their texts."""

    records: list[Record]
    new: list[str]
    redacted: int
    withheld: int


@dataclass(frozen=True)
class RecordsFound:
    """`total` is how many records there are of which these are some."""

    records: list[Record]
    total: int
    sessions: list[Summary]


class RecordKeeper:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def resume(self) -> None:
        """A daemon that was lost while it forgot for good goes on with that before anything else."""
        if await self.registry.store.read(hard_delete.is_due):
            try:
                await self._scour()
            except UnavailableError as error:  # on a full disk sessions have to be ended first
                log.error("what was forgotten for good is on free pages until the next start: %s", error)

    # -- storing

    async def store(
        self, items: list[RecordDraft], project: Project | None, caller: Caller, key: str, folder: str | None
    ) -> StoredItems:
        """All of them or none. What is in force already, word for word, is not stored again but returned."""
        drafts, redacted, withheld = await asyncio.to_thread(_prepared, items, caller, project, folder)
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> StoredItems:
            before = _remembered(db, key, caller)
            if before is not None:
                return StoredItems([_get(db, one) for one in before["records"]], before["new"], redacted, withheld)
            kept: list[Record] = []
            new: list[str] = []
            for draft in drafts:
                same = records.in_force(db, draft.project, draft.type, draft.content)
                if same is None:
                    same = replace(draft, id=self.registry.ids.new("r", now), created_at=now)
                    records.insert(db, same)
                    new.append(same.id)
                kept.append(same)
            if project is not None:
                project.see(db, now)
            if new:
                events.append(db, now, caller.session, caller.name, "remembered", records=new)
            _remember(db, key, caller, now, {"records": [one.id for one in kept], "new": new})
            return StoredItems(kept, new, redacted, withheld)

        return await self.registry.write(write)

    # -- finding

    async def search(self, query: Query, wanted: Filter, limit: int, offset: int, sessions: int) -> RecordsFound:
        """Records that fit, the best first; and sessions that have ended whose summaries do."""

        def read(db: sqlite3.Connection) -> RecordsFound:
            found = recall.search(db, query, wanted, limit, offset)
            ended = recall.search_sessions(db, query, wanted.projects, sessions, wanted.since, wanted.until)
            return RecordsFound(found, recall.count(db, query, wanted), ended)

        return await self.registry.store.read(read)

    async def list(self, wanted: Filter, limit: int, offset: int) -> RecordsFound:
        def read(db: sqlite3.Connection) -> RecordsFound:
            return RecordsFound(recall.newest(db, wanted, limit, offset), recall.count(db, None, wanted), [])

        return await self.registry.store.read(read)

    # -- closing

    async def close(
        self, words: list[str], state: RecordState, why: str | None, caller: Caller
    ) -> list[Record]:  # fmt: skip
        """Resolved, or forgotten: all of them or none. One that is so already stays as it is."""
        now = self.registry.clock.now()
        said = redact(storable(why)).text.strip() if why else None

        def write(db: sqlite3.Connection) -> list[Record]:
            found = [find(db, word) for word in words]
            changed: list[str] = []
            for record in found:
                check_record(caller, record)
                if record.state is state or record.id in changed:
                    continue
                if not record.active and state is not RecordState.FORGOTTEN:
                    raise _not_active(record, state)
                records.close(db, record.id, state, now, caller.name, said or None)
                changed.append(record.id)
            if changed:
                events.append(db, now, caller.session, caller.name, state.value, records=changed)
            return [_get(db, record.id) for record in found]

        return await self.registry.write(write)

    async def supersede(
        self, word: str, content: str | None, nature: Nature, caller: Caller, key: str, folder: str | None
    ) -> StoredItems:
        """A new record that names the old one, and is of its project; with the same text when none is given."""
        known = await self.registry.store.get(lambda db: find(db, word)) if content is None else None
        item = RecordDraft(known.content if known else content or "", nature.type or RecordType.NOTE)
        (draft,), redacted, withheld = await asyncio.to_thread(_prepared, [item], caller, None, folder)
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> StoredItems:
            before = _remembered(db, key, caller)
            if before is not None:
                return StoredItems([_get(db, one) for one in before["records"]], before["new"], redacted, withheld)
            old = find(db, word)
            check_record(caller, old)
            if not old.active:
                raise _not_active(old, RecordState.SUPERSEDED)
            made = replace(
                _like(draft, old, nature), id=self.registry.ids.new("r", now), created_at=now, supersedes=old.id
            )
            records.insert(db, made)
            records.close(db, old.id, RecordState.SUPERSEDED, now, caller.name, superseded_by=made.id)
            events.append(db, now, caller.session, caller.name, "superseded", records=[old.id], by_record=made.id)
            _remember(db, key, caller, now, {"records": [made.id, old.id], "new": [made.id]})
            return StoredItems([made, _get(db, old.id)], [made.id], redacted, withheld)

        return await self.registry.write(write)

    # -- forgetting for good

    async def named(self, words: list[str]) -> list[str]:
        """The ids of these, each once."""
        found = await self.registry.store.get(lambda db: [find(db, word).id for word in words])
        return list(dict.fromkeys(found))

    async def erase(self, ids: list[str], caller: Caller) -> bool:
        """Nothing of them is left: not in the index, on free pages or in the log of writes. Safe to repeat. False when the pages
        could not be written anew now, and will be when the daemon starts next."""
        now = self.registry.clock.now()
        texts: list[str] = []

        def write(db: sqlite3.Connection) -> set[str]:
            found = [record for record in (records.get(db, one) for one in ids) if record is not None]
            delivered = {session for record in found for session in hard_delete.erase(db, record)}
            texts.extend(text for record in found for text in (record.id, record.content))
            if found:
                erased = [record.id for record in found]
                events.append(db, now, caller.session, caller.name, "forgotten for good", records=erased)
            return delivered

        for session in await self.registry.store.write_long(write):
            with contextlib.suppress(OSError):  # the packet that it started from has the text too
                os.unlink(f"{self.registry.folder(session)}/{PACKET}")
        await asyncio.to_thread(forget_words, os.path.dirname(self.registry.folder("x")), texts)
        self.registry.announce()
        return await self._scour()

    async def _scour(self) -> bool:
        await self.registry.store.forget_copies()
        done = await self.registry.store.maintain(hard_delete.scour)
        if not done:
            log.error(
                "the store is read by another process: what was forgotten for good is on free pages until the next start"
            )
        return done


def find(db: sqlite3.Connection, word: str) -> Record:
    """By id, or by the unique beginning of one."""
    found = records.by_prefix(db, word) if word.isascii() and word.isalnum() else []
    exact = [record for record in found if record.id == word]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        shown = ", ".join(record.id for record in found[:5])
        raise MissingError(Code.AMBIGUOUS, f"{word} begins more than one record's id: {shown}", "give more of the id")
    raise MissingError(
        Code.NOT_FOUND,
        f"there is no record {word[:60]!a}, and nothing was changed",
        Hint(Use("records"), " lists those in force, ", Use("recall"), " finds them by their words"),
    )


def _get(db: sqlite3.Connection, record: str) -> Record:
    found = records.get(db, record)
    if found is None:
        raise MissingError(Code.NOT_FOUND, f"{record} was forgotten for good since", "nothing is left of it")
    return found


def _like(draft: Record, old: Record, nature: Nature) -> Record:
    if nature.type is None or nature.type is old.type:
        draft = replace(draft, type=old.type, category=old.category, importance=old.importance)
    return replace(
        draft,
        project=old.project,
        category=nature.category or draft.category,
        importance=nature.importance or draft.importance,
        evidence=old.evidence if draft.content == old.content else draft.evidence,
    )


def _not_active(record: Record, wanted: RecordState) -> ConflictError:
    instead = f" by {record.superseded_by}" if record.superseded_by else ""
    return ConflictError(
        Code.NOT_ACTIVE,
        f"{record.id} is {record.state}{instead}, so it cannot be {wanted}; nothing was changed",
        f"use {record.superseded_by} instead" if record.superseded_by else Hint("store a new one: ", Use("remember")),
        state=record.state.value,
    )


def _prepared(
    items: list[RecordDraft], caller: Caller, project: Project | None, folder: str | None
) -> tuple[list[Record], int, int]:
    """Each as a record without id and time. Blocks: files are read."""
    made: list[Record] = []
    secrets = private = 0
    for number, item in enumerate(items, 1):
        cleaned = redact(storable(item.content))
        cited = [redact(storable(text)) for text in (*item.files, *item.commits)]
        secrets += cleaned.secrets + sum(each.secrets for each in cited)
        private += cleaned.private + sum(each.private for each in cited)
        content = cleaned.text.strip()
        if not content:
            why = "once what is private is taken out" if cleaned.private else "in it"
            which = f" of record {number}" if len(items) > 1 else ""
            raise InputError(Code.BAD_INPUT, f"nothing{which} is left to store {why}", "say it in a sentence or two")
        category, importance = KEPT_AS[item.type]
        made.append(
            Record(
                id="",
                type=item.type,
                content=content,
                category=item.category or category,
                importance=item.importance or importance,
                created_at=0.0,
                by=caller.name,
                source=Source.OPERATOR if caller.rank is Rank.OPERATOR else Source.AGENT,
                project=project.id if project else None,
                session=caller.session,
                evidence=_evidence(folder, item, content),
            )
        )
    return made, secrets, private


def _evidence(folder: str | None, item: RecordDraft, content: str) -> RecordEvidence:
    """What was named, and what the text itself cites."""
    cited = cite(folder, content) if folder else RecordEvidence()
    named = tuple(CitedFile(_clean(path), fingerprint(folder or "/", path)) for path in item.files)
    files = {one.path: one for one in (*cited.files, *named)}
    commits = dict.fromkeys((*map(_clean, item.commits), *cited.commits))
    return RecordEvidence(storable(folder) if folder else None, tuple(files.values()), tuple(commits))


def _clean(text: str) -> str:
    return redact(storable(text)).text


# -- what came of a call that a crash of ours made come again


def _remembered(db: sqlite3.Connection, key: str, caller: Caller) -> dict[str, Any] | None:
    kept = calls.find(db, f"{key}/records")
    return json.loads(kept.result or "{}") if kept is not None and kept.caller == caller.name else None


def _remember(db: sqlite3.Connection, key: str, caller: Caller, now: float, what: dict[str, Any]) -> None:
    """In the transaction that made them: ids alone."""
    calls.keep(db, KeptCall(f"{key}/records", "", caller.name, "", json.dumps(what)), now)
