"""What the operator's word can do for whom: what is beyond a caller, and nothing else that stands in its way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lamplighter.domain.permission import Act, Caller, Rank, may, may_ask
from lamplighter.domain.session import Driver, Kind, Session

OTHER = Session("0a", "other", Kind.TASK, Driver.TERMINAL, "operator", ("cat",), "/", 1.0, "b")
ASKING = {Rank.SESSION, Rank.AGENT, Rank.CLIENT}


@pytest.mark.parametrize("act", list(Act))
@pytest.mark.parametrize("rank", [rank for rank in Rank if rank not in (Rank.TOKEN, Rank.OPERATOR)])
def test_sending_ending_killing_and_reading_can_be_asked_for_by_who_is_known(rank: Rank, act: Act) -> None:
    expected = rank in ASKING and act in (Act.SEND, Act.END, Act.KILL, Act.READ_OUTPUT)
    assert may_ask(Caller(rank, f"{rank}:1"), act, OTHER, []) == expected


def test_a_scope_that_a_token_lacks_is_not_to_be_asked_for() -> None:
    narrow = Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read", "send"}))
    assert may_ask(narrow, Act.SEND, OTHER, [])
    assert not may_ask(narrow, Act.END, OTHER, [])
    assert not may_ask(narrow, Act.KILL, OTHER, [])


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("protected", [False, True])
def test_output_is_read_by_who_is_related_whatever_it_is(kind: Kind, protected: bool) -> None:
    child = replace(OTHER, kind=kind, protected=protected, facts={"line": ["0b", "session:0p"]})
    readers = {
        Caller(Rank.OPERATOR, "operator"): True,
        Caller(Rank.SESSION, "session:0a", "0a"): True,
        Caller(Rank.SESSION, "session:0b", "0b"): True,
        Caller(Rank.SESSION, "session:0c", "0c", inherits=frozenset({"0a"})): True,
        Caller(Rank.SESSION, "session:0c", "0c", inherits=frozenset({"0p"})): True,
        Caller(Rank.SESSION, "session:0c", "0c"): False,
        Caller(Rank.AGENT, "agent:claude:1@2"): False,
        Caller(Rank.CLIENT, "client:1"): False,
        Caller(Rank.UNKNOWN, "unknown"): False,
        Caller(Rank.NOBODY, "nobody"): False,
        Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read"})): False,
    }
    assert {caller: may(caller, Act.READ_OUTPUT, child) for caller in readers} == readers


def test_a_token_reads_what_was_started_with_it_by_its_scope() -> None:
    started = replace(OTHER, owner="token:t")
    assert may(Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read"})), Act.READ_OUTPUT, started)
    assert not may(Caller(Rank.TOKEN, "token:t", scopes=frozenset({"end"})), Act.READ_OUTPUT, started)
