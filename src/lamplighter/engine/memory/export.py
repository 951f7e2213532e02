"""Taking everything that is kept elsewhere, and bringing it in: lines of JSON, some at a time out, all or nothing in.

A file of any size is read twice at most: once outside the store, where each line is checked and cleaned of secrets, and once in
one transaction. Knows lines and the store; who may is not asked here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.record import Record
from lamplighter.domain.memory.transfer import KnownProject, NoSuchThingError, Thing, line_of, parse_line, read_line
from lamplighter.domain.permission import Caller
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, Hint, InputError, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import calls, events, export_queries, handoffs, records
from lamplighter.store.calls import KeptCall

_AT_ONCE = 200
_LONGEST_LINE = 1 << 20
_STAGES = (export_queries.PROJECTS, export_queries.HANDOFFS, export_queries.RECORDS)
_LIVES = ("state", "carried", "supersedes", "superseded_by", "closed_at", "closed_by", "closed_why")
"""What becomes of a record in the course of time: not what it says."""


@dataclass(frozen=True)
class ExportPage:
    """Some lines, and where to go on."""

    lines: list[str]
    cursor: list[str]


@dataclass
class Counts:
    """What came of an import; `known` were there already."""

    projects: int = 0
    handoffs: int = 0
    records: int = 0
    known: int = 0
    redacted: int = 0
    withheld: int = 0


class RecordExport:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def page(self, after: list[str], project: str | None) -> ExportPage | None:
        """The lines after a cursor, which is empty at first; None when there are no more."""
        stage, last = (after[0], after[1]) if after else (_STAGES[0], "")

        def read(db: sqlite3.Connection) -> ExportPage | None:
            at = last
            for name in _STAGES[_STAGES.index(stage) :]:
                found = _some(db, name, at, project)
                if found:
                    return ExportPage([line_of(thing) for thing in found], [name, found[-1].id])
                at = ""
            return None

        return await self.registry.store.read(read)

    async def bring_in(self, path: str, called: str, caller: Caller, key: str) -> Counts:
        """All lines or none."""
        with tempfile.TemporaryFile(dir=self.registry.settings.home.state) as staged:
            counts = await asyncio.to_thread(_stage, path, called, staged)
            now = self.registry.clock.now()

            def write(db: sqlite3.Connection) -> Counts:
                before = calls.find(db, f"{key}/import")
                if before is not None and before.caller == caller.name:
                    return Counts(**json.loads(before.result or "{}"))
                for number, thing in _staged(staged):
                    _put(db, thing, number, called, counts)
                told = {name: value for name, value in vars(counts).items() if value}
                events.append(db, now, None, caller.name, "imported", **told)
                calls.keep(db, KeptCall(f"{key}/import", "", caller.name, "", json.dumps(vars(counts))), now)
                return counts

            done = await self.registry.store.write_long(write)
        self.registry.announce()
        return done


def _some(db: sqlite3.Connection, stage: str, after: str, project: str | None) -> list[Any]:
    if stage == export_queries.PROJECTS:
        return [KnownProject(*row) for row in export_queries.projects(db, after, project, _AT_ONCE)]
    query = export_queries.handoffs if stage == export_queries.HANDOFFS else export_queries.records
    return list(query(db, after, project, _AT_ONCE))


def _stage(path: str, called: str, staged: IO[bytes]) -> Counts:
    """Every line checked and cleaned, each with its number. Blocks."""
    counts = Counts()
    for number, line in _lines(path, called):
        try:
            read = read_line(line)
        except NoSuchThingError as problem:
            raise _wrong(called, number, str(problem)) from None
        counts.redacted += read.secrets
        counts.withheld += read.private
        staged.write(f"{number} {line_of(read.thing)}\n".encode())
    return counts


def _lines(path: str, called: str) -> Iterator[tuple[int, str]]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise _unreadable(called, str(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unreadable(called, "it is no file")
    with open(descriptor, "rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise _wrong(called, number, "it is longer than 1 MiB")
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError:
                raise _wrong(called, number, "it is not UTF-8") from None
            if text:
                yield number, text


def _staged(staged: IO[bytes]) -> Iterator[tuple[int, Thing]]:
    staged.seek(0)
    for line in staged:
        number, _, text = line.decode().partition(" ")
        yield int(number), parse_line(text)


def _put(db: sqlite3.Connection, thing: Thing, number: int, called: str, counts: Counts) -> None:
    if isinstance(thing, KnownProject):
        known = export_queries.project(db, thing.id)
        if known is None:
            counts.projects += 1
        else:
            counts.known += 1
        if known is None or known[2] < thing.seen_at:
            handoffs.see_project(db, thing.id, thing.name, thing.seen_at)
        return
    there = handoffs.get(db, thing.id) if isinstance(thing, Handoff) else records.get(db, thing.id)
    if there is not None:
        if _said(there) != _said(thing):
            raise _wrong(called, number, f"{thing.id} is here already and says something else")
        counts.known += 1
    elif isinstance(thing, Record):
        records.insert(db, thing)
        counts.records += 1
    else:
        same = handoffs.find(db, thing.session, thing.digest)
        if same is not None:
            raise _wrong(called, number, f"the same hand-off is here already as {same.id}")
        handoffs.insert(db, thing)
        counts.handoffs += 1


def _said(thing: Handoff | Record) -> Handoff | Record:
    """What a thing says, whatever became of it since."""
    if isinstance(thing, Handoff):
        return thing
    blank = Record(thing.id, thing.type, "", "", 0, 0.0, "", thing.source)
    return replace(thing, **{name: getattr(blank, name) for name in _LIVES})


def _wrong(called: str, number: int, problem: str) -> InputError:
    return InputError(
        Code.BAD_INPUT,
        f"line {number} of {called[:200]!a}: {problem}; nothing was imported",
        Hint("mend or take out that line; ", Use("export"), " writes what can be imported"),
        line=number,
    )


def _unreadable(called: str, why: str) -> InputError:
    return InputError(
        Code.BAD_INPUT,
        f"{called[:200]!a} cannot be read: {why[:200]}",
        Hint("name a file that ", Use("export"), " wrote"),
    )
