"""A boot packet from a store with many records: all of them in one project, and most of them in force, so that nearly all of
it must be left out and counted. Asked over a warm connection.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate

from bench.lamps import Lamps, lamps
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.domain.memory.record import KEPT_AS, Record, RecordState, RecordType, Source
from lamplighter.store import records

PROJECT = "bench"
_CONSTRAINTS = 20
_BOUND = 30.0
_VOCABULARY = 5_000
_PROMPT = "why does word700 fail when word1200 and word33 are at word2500"


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours:
        session = ours.start("sleep", "600")["id"]
        ours.warm.call("hand_off", session=session, checkpoint="where the work stands", project=PROJECT)
        fill(ours, scale.records)
        plain: list[float] = []
        fitting: list[float] = []
        for _ in range(scale.packets):
            plain.append(_timed(ours))
            fitting.append(_timed(ours, prompt=_PROMPT))
    name = f"a packet of 8,000 from {scale.records:,} records"
    yield Row(name, Sample(plain, "ms"), target=Target(_BOUND))
    yield Row(f"{name}, and what fits a prompt", Sample(fitting, "ms"))


def _timed(ours: Lamps, **arguments: str) -> float:
    began = time.perf_counter()
    ours.warm.ask("load_handoff", project=PROJECT, **arguments)
    ours.warm.line()
    return (time.perf_counter() - began) * 1000


def fill(ours: Lamps, count: int) -> None:
    chance, words = random.Random(1), [f"word{number}" for number in range(_VOCABULARY)]
    weights = list(accumulate(1 / (number + 1) for number in range(_VOCABULARY)))  # few words are in most texts
    kinds = [kind for kind in RecordType if kind is not RecordType.CONSTRAINT]
    with closing(sqlite3.connect(ours.engine.home.database, timeout=30)) as db, db:
        for number in range(count):
            kind = RecordType.CONSTRAINT if number < _CONSTRAINTS else chance.choice(kinds)
            state = RecordState.RESOLVED if number >= _CONSTRAINTS and not number % 10 else RecordState.ACTIVE
            records.insert(db, _record(number, kind, state, " ".join(chance.choices(words, cum_weights=weights, k=17))))


def _record(number: int, kind: RecordType, state: RecordState, text: str) -> Record:
    category, importance = KEPT_AS[kind]
    return Record(
        id=f"r{number:010d}",
        type=kind,
        content=text,
        category=category,
        importance=importance,
        created_at=1_700_000_000.0 + number,
        by="bench",
        source=Source.AGENT,
        project=PROJECT,
        state=state,
    )
