"""How well records are found, and how fast: recall at 5 and MRR on questions that others wrote, against whole words as they are
typed and against substrings; and a query over many records, through the daemon.

Nothing in Lamplighter is chosen by these numbers: they are reported.
"""

from __future__ import annotations

import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache

from bench.accounts import cpu_of
from bench.lamps import Lamps, lamps
from bench.questions import Corpus, Question, load, read
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.domain.memory.record import Ids, Record, RecordType, Source
from lamplighter.domain.text.search_text import query
from lamplighter.store import recall, records
from lamplighter.store.migrations import migrate
from lamplighter.store.recall import Filter

_BEST = 5
_SEEN = 50
_PIECE = 105  # characters of a record, as the reference measured them
_PROJECT = "bench"
_BOUND = 15.0
_LEAST = 69.0
_WORD = re.compile(r"\w+")

Find = Callable[[str], list[str]]
"""The ids of the texts that fit a question, the best first."""


def measure(scale: Scale) -> Iterator[Row]:
    corpus = load(scale.questions) if scale.questions > 10 else read(_OWN)
    asked = corpus.questions
    sessions = f"{len(corpus.sessions)} sessions pooled, what the user said"
    yield from _compared(
        sessions, corpus.sessions, [(q.text, q.sessions) for q in asked], Target(_LEAST, at_least=True)
    )
    yield from _compared(
        f"{len(corpus.whole)} sessions pooled, all that was said",
        corpus.whole,
        [(q.text, q.sessions) for q in asked],
        None,
    )
    turns = [(q.text, q.turns) for q in asked if q.turns]
    yield from _compared(f"{len(corpus.turns):,} turns pooled", corpus.turns, turns, None)
    yield from _timed(scale, corpus)


def _compared(
    name: str, texts: dict[str, str], asked: list[tuple[str, frozenset[str]]], target: Target | None
) -> Iterator[Row]:
    texts, asked = _each_once(texts, asked)
    ours = _score(_ours(texts), asked)
    for its, peer in (("whole words as typed", _as_typed(texts)), ("substrings", _substrings(texts))):
        theirs = _score(peer, asked)
        for measured, value, other in zip(("recall@5", "MRR"), ours, theirs, strict=True):
            bound = target if measured == "recall@5" and its.startswith("whole") else None
            yield Row(f"{measured}, {name}", Sample([value], "%"), Sample([other], "%"), its, bound)


def _each_once(
    texts: dict[str, str], asked: list[tuple[str, frozenset[str]]]
) -> tuple[dict[str, str], list[tuple[str, frozenset[str]]]]:
    """The file has some sessions twice, under two ids; which of two equal texts is found first says nothing."""
    first: dict[str, str] = {}
    same = {identifier: first.setdefault(text, identifier) for identifier, text in texts.items()}
    kept = {identifier: text for text, identifier in first.items()}
    return kept, [(text, frozenset(same[one] for one in wanted)) for text, wanted in asked]


def _score(find: Find, asked: list[tuple[str, frozenset[str]]]) -> tuple[float, float]:
    """How much of what answers a question is among the first five, and how near the top the first of it is; in percent."""
    recalls: list[float] = []
    ranks: list[float] = []
    for text, wanted in asked:
        found = find(text)
        recalls.append(len(wanted & set(found[:_BEST])) / len(wanted))
        ranks.append(next((1 / (rank + 1) for rank, one in enumerate(found) if one in wanted), 0.0))
    return 100 * statistics.mean(recalls), 100 * statistics.mean(ranks)


def _ours(texts: dict[str, str]) -> Find:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrate(db)
    for identifier, text in texts.items():
        records.insert(db, _record(identifier, text, 0.0))
    return lambda text: [found.id for found in recall.search(db, query(text), Filter(), _SEEN)]


def _as_typed(texts: dict[str, str]) -> Find:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, id UNINDEXED)")
    db.executemany("INSERT INTO texts VALUES (?, ?)", ((text, identifier) for identifier, text in texts.items()))

    def find(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        rows = db.execute("SELECT id FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, _SEEN))
        return [row[0] for row in rows]

    return find


def _substrings(texts: dict[str, str]) -> Find:
    """Those that have most of the question's words somewhere in them: a question as a whole is in no text."""
    lowered = {identifier: text.lower() for identifier, text in texts.items()}

    @cache
    def having(word: str) -> frozenset[str]:
        return frozenset(identifier for identifier, text in lowered.items() if word in text)

    def find(text: str) -> list[str]:
        counts: dict[str, int] = {}
        for word in set(_WORD.findall(text.lower())):
            for identifier in having(word):
                counts[identifier] = counts.get(identifier, 0) + 1
        return sorted(counts, key=lambda identifier: (-counts[identifier], identifier))[:_SEEN]

    return find


def _timed(scale: Scale, corpus: Corpus) -> Iterator[Row]:
    with lamps() as ours:
        ours.warm.call("store_records", project=_PROJECT, records=[{"content": "the first"}])
        count = _fill(ours, corpus, scale.records)
        times: list[float] = []
        cpus: list[float] = []
        for question in corpus.questions[: scale.searches]:
            used = cpu_of(ours.daemon())
            times.append(_ask(ours, question))
            cpus.append((cpu_of(ours.daemon()) - used) * 1000)
    name = f"a query over {count:,} records"
    yield Row(name, Sample(times, "ms"), target=Target(_BOUND))
    yield Row(f"{name}, CPU in the daemon", Sample(cpus, "ms"))


def _ask(ours: Lamps, question: Question) -> float:
    began = time.perf_counter()
    ours.warm.call("search_records", query=question.text, project=_PROJECT)
    return (time.perf_counter() - began) * 1000


def _fill(ours: Lamps, corpus: Corpus, most: int) -> int:
    """Pieces of what was said, each a record."""
    count, ids = 0, Ids()
    with closing(sqlite3.connect(ours.engine.home.database, timeout=60)) as db, db:
        for text in corpus.whole.values():
            said = " ".join(text.split())
            for at in range(0, len(said), _PIECE):
                if count == most:
                    return count
                records.insert(
                    db, _record(ids.new("r", 1_800_000_000.0), said[at : at + _PIECE], float(count), _PROJECT)
                )
                count += 1
    return count


def _record(identifier: str, text: str, at: float, project: str | None = None) -> Record:
    return Record(identifier, RecordType.NOTE, text, "general", 5, at, "operator", Source.OPERATOR, project)


_OWN = [
    {
        "question_id": "1",
        "question": "Where is the spare key?",
        "haystack_session_ids": ["a", "b"],
        "haystack_sessions": [
            [{"role": "user", "content": "The spare keys hang behind the clock.", "has_answer": True}],
            [{"role": "user", "content": "The clock is slow."}, {"role": "assistant", "content": "Wind it up."}],
        ],
        "answer_session_ids": ["a"],
    },
]
"""Of the same shape, for a run that only shows that all of it runs."""
