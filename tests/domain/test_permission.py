"""What the operator's word can do for whom: what is beyond a caller, and nothing else that stands in its way."""

from __future__ import annotations

import pytest

from lamplighter.domain.permission import Act, Caller, Rank, may_ask
from lamplighter.domain.session import Driver, Kind, Session

OTHER = Session("0a", "other", Kind.TASK, Driver.TERMINAL, "operator", ("cat",), "/", 1.0, "b")
ASKING = {Rank.SESSION, Rank.AGENT, Rank.CLIENT}


@pytest.mark.parametrize("act", list(Act))
@pytest.mark.parametrize("rank", [rank for rank in Rank if rank not in (Rank.TOKEN, Rank.OPERATOR)])
def test_sending_ending_and_killing_can_be_asked_for_by_who_is_known(rank: Rank, act: Act) -> None:
    expected = rank in ASKING and act in (Act.SEND, Act.END, Act.KILL)
    assert may_ask(Caller(rank, f"{rank}:1"), act, OTHER, []) == expected


def test_a_scope_that_a_token_lacks_is_not_to_be_asked_for() -> None:
    narrow = Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read", "send"}))
    assert may_ask(narrow, Act.SEND, OTHER, [])
    assert not may_ask(narrow, Act.END, OTHER, [])
    assert not may_ask(narrow, Act.KILL, OTHER, [])
