"""Texts and queries meet in the index: whatever is asked is valid, and words are found in whatever script they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.text.search_text import MOST_TERMS, normalised, query, storable
from lamplighter.errors import LampError
from lamplighter.store.migrations import migrate

WORDS = ["shop", "cache", "café", "東京", "naïve", "getUserName", "3.40.1", "Straße", "हिन्दी"]


@pytest.fixture(scope="module")
def db() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def found(db: sqlite3.Connection, text: str, *texts: str) -> list[str]:
    """Which of the texts this query finds, the best first."""
    db.execute("DELETE FROM record_texts")
    for number, each in enumerate(texts):
        db.execute("INSERT INTO record_texts (rowid, text) VALUES (?, ?)", (number + 1, normalised(each)))
    rows = db.execute(
        "SELECT rowid FROM record_texts WHERE record_texts MATCH ? ORDER BY rank, rowid", (query(text).match,)
    )
    return [texts[row[0] - 1] for row in rows]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("deploy", "We deployed it twice"),
        ("user name", "getUserName fails"),
        ("getUserName", "why does getusername fail"),
        ("http server", "the HTTPServer of the library"),
        ("store", "src/lamplighter/store/recall.py"),
        ("recall.py", "src/lamplighter/store/recall.py"),
        ("max retries", "MAX_RETRIES is 3"),
        ("cafe", "a Café"),
        ("CAFÉ", "cafe\u0301s"),
        ("ﬁle", "a file"),
        ("１２３", "room 123"),
        ("東京", "来週東京に行きます"),
        ("京", "来週東京に行きます"),
        ("す", "来週東京に行きます"),
        ("カタカナ", "半角ｶﾀｶﾅ"),
        ("데이터", "데이터베이스를 고쳤다"),
        ("นี่", "ที่นี่ร้อนมาก"),
        ("हिन्दी", "यह हिन्दी में है"),
        ("كتاب", "كِتَاب"),
        ("naïve", "naive"),
    ],
)
def test_a_word_is_found_in_another_spelling(db: sqlite3.Connection, asked: str, text: str) -> None:
    assert found(db, asked, text, "nothing of the kind") == [text]


def test_words_that_every_text_has_are_left_out_unless_there_is_nothing_else(db: sqlite3.Connection) -> None:
    assert query("what did we do about the Cache?").match == '"cache"'
    assert found(db, "to be or not to be", "to be", "caches") == ["to be"]
    assert query("don't").match == '"don" OR "t"'


def test_what_belongs_together_is_best_in_one_piece(db: sqlite3.Connection) -> None:
    other, same = "40 of 1 and 3", "SQLite 3.40.1"
    assert found(db, "3.40.1", other, same)[0] == same


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\0", "\u3000", "\0 \0"])
def test_an_empty_query_is_a_clear_error(text: str) -> None:
    with pytest.raises(LampError) as refused:
        query(text)
    assert refused.value.code == "BAD_INPUT"
    assert "lamp records" in refused.value.hint


@pytest.mark.parametrize("text", ["!!!", "++", "->", "😀", "\u200b", '"', "*", "^", ":", "()", "{}"])
def test_what_is_no_word_is_looked_for_as_it_stands(text: str) -> None:
    asked = query(f"  {text} ")
    assert (asked.match, asked.text) == ("", text)


@pytest.mark.parametrize(
    "text",
    [
        '"',
        '"a',
        "a AND",
        "OR OR",
        "NEAR(a b, 3)",
        "NOT x",
        "text:x",
        "x*",
        "^x",
        "{a b}:c",
        "a\0b",
        "\ud800x",
        "a;--",
        "-x",
    ],
)
def test_any_text_is_a_query(db: sqlite3.Connection, text: str) -> None:
    asked = query(text)
    if asked.match:
        db.execute("SELECT * FROM record_texts WHERE record_texts MATCH ?", (asked.match,)).fetchall()
    db.execute("SELECT instr('', ?)", (asked.text,)).fetchall()


@given(st.text(st.characters(), min_size=1, max_size=200))
def test_nothing_breaks_the_index_and_a_text_finds_itself(db: sqlite3.Connection, text: str) -> None:
    if not text.replace("\0", " ").strip():
        return
    asked = query(text)
    if asked.match:
        kept = found(db, text, text)
        # The index knows fewer characters as letters than Python does; what it knows none of is no word to it.
        tokens = db.execute("SELECT count(*) FROM record_texts WHERE record_texts MATCH ?", (asked.match,)).fetchone()[
            0
        ]
        assert len(kept) == tokens
    else:
        assert asked.text in storable(text)


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_a_text_of_words_finds_itself(db: sqlite3.Connection, words: list[str]) -> None:
    text = " ".join(words)
    assert found(db, text, text) == [text]


def test_a_long_query_is_cut_to_some_terms(db: sqlite3.Connection) -> None:
    long = " ".join(f"word{number}" for number in range(20_000))
    assert query(long).match.count(" OR ") == MOST_TERMS - 1
    assert query("same " * 25_000).match == '"same"'
    assert found(db, "x" * 100_000, "x" * 100_000)


def test_what_no_store_takes_is_replaced() -> None:
    assert storable("a\0b\ud800c\U0001f600é") == "a\ufffdb\ufffdc\U0001f600é"
    assert storable("\ud83d\ude00") == "\U0001f600"
