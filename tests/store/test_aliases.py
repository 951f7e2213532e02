"""What others call a session: given once, found, ended, and given again only where a namespace does that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.engine.agents_io.conversations import begin
from lamplighter.errors import Code, ConflictError
from lamplighter.store import aliases, sessions
from lamplighter.store.migrations import migrate


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def test_a_name_is_one_sessions_in_its_namespace(db: sqlite3.Connection) -> None:
    assert aliases.give(db, "openclaw", "hook:1", "a", 1.0)
    assert aliases.give(db, "openclaw", "hook:1", "a", 2.0)
    assert not aliases.give(db, "openclaw", "hook:1", "b", 3.0)
    assert aliases.give(db, "kiro", "hook:1", "b", 3.0)
    assert aliases.find(db, "openclaw", "hook:1") == "a"
    assert aliases.find(db, "kiro", "hook:1") == "b"
    assert aliases.find(db, "tmux", "hook:1") is None
    assert aliases.of_sessions(db, "openclaw", ["a", "b"]) == {"a": ("hook:1", None)}


def test_one_that_ended_is_given_again_only_where_that_is_so(db: sqlite3.Connection) -> None:
    aliases.give(db, "tmux", "work", "a", 1.0)
    assert not aliases.give(db, "tmux", "work", "b", 2.0, again=True)
    aliases.end(db, "tmux", "a", 3.0)
    aliases.end(db, "tmux", "a", 4.0)
    assert aliases.of_sessions(db, "tmux", ["a"]) == {"a": ("work", 3.0)}
    assert not aliases.give(db, "tmux", "work", "b", 5.0)
    assert aliases.find(db, "tmux", "work") == "a"
    assert aliases.give(db, "tmux", "work", "b", 5.0, again=True)
    assert aliases.find(db, "tmux", "work") == "b"
    aliases.forget(db, "b")
    assert aliases.find(db, "tmux", "work") == "a"


def test_many_are_asked_for_at_once(db: sqlite3.Connection) -> None:
    for number in range(1200):
        aliases.give(db, "kiro", f"session-{number}", f"s{number}", float(number))
    found = aliases.of_sessions(db, "kiro", [f"s{number}" for number in range(1300)])
    assert len(found) == 1200
    assert found["s1199"] == ("session-1199", None)


def test_one_name_after_the_other_and_back(db: sqlite3.Connection) -> None:
    """An agent that forgets, and then goes on with what it forgot: known by one at a time, which its last holder has."""
    aliases.turn_to(db, "claude", "a", "one", 1.0)
    aliases.turn_to(db, "claude", "b", "one", 2.0)
    assert aliases.of_sessions(db, "claude", ["one"]) == {"one": ("b", None)}
    aliases.turn_to(db, "claude", "a", "two", 3.0)
    assert aliases.find(db, "claude", "a") == "two"
    aliases.turn_to(db, "claude", "a", "one", 4.0)
    assert aliases.of_sessions(db, "claude", ["one"]) == {"one": ("a", None)}
    assert aliases.find(db, "claude", "b") == "one"


def test_a_conversation_is_begun_where_nobody_who_runs_is(db: sqlite3.Connection) -> None:
    first, second = _session("a"), _session("b")
    sessions.insert(db, first)
    begin(db, "claude", "talk", "a", 1.0)
    with pytest.raises(ConflictError) as caught:
        begin(db, "claude", "talk", "b", 2.0)
    assert caught.value.code is Code.ACTIVE
    begin(db, "codex", "talk", "b", 2.0)
    aliases.turn_to(db, "claude", "another", "a", 3.0)
    begin(db, "claude", "talk", "b", 4.0)
    sessions.insert(db, second)
    assert aliases.last_in(db, "claude", ["/", "/elsewhere"]) == ("b", "talk")
    assert aliases.last_in(db, "claude", ["/elsewhere"]) is None


def _session(name: str) -> Session:
    return Session(
        id=name, name=name, kind=Kind.TASK, driver=Driver.TERMINAL, owner="operator", command=("claude",), cwd="/",
        created_at=1.0, boot="boot", agent="claude",
    )  # fmt: skip
