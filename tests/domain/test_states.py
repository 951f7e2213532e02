"""The life of a session: what each state has, and what may follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from lamplighter.domain.ending import Certificate, Ending, Guarantee, How, Intent
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import WORDS, BeingEnded, HasEnded, Running, Starting, State, asking, intent_of

INTENT = Intent("operator", "enough", How.ASKED, 5.0, 11.0, ask=10.0)
ENDING = Ending(12.0, "operator", "enough", How.ASKED, None, Certificate(Guarantee.TREE, 0.0))
STATES: list[State] = [Starting(), Running(), BeingEnded(INTENT), HasEnded(ENDING, INTENT)]
BORN = Session("0aaaaaaa", "one", Kind.TASK, Driver.TERMINAL, "operator", ("cat",), "/", 10.0, "b")
DEEDS: dict[str, Callable[[Session], Session | None]] = {
    "started": lambda session: session.started(10.5, Process(1, 2), Process(3, 4)),
    "to end": lambda session: session.to_end(INTENT),
    "asked": lambda session: session.asked(11.5, 1.5),
    "hurried": lambda session: session.hurried(1.0),
    "ended": lambda session: session.ended(ENDING),
}
FOLLOWS = {
    "starting": {"started": "running", "to end": "ending", "ended": "ended"},
    "running": {"to end": "ending", "ended": "ended"},
    "ending": {"asked": "ending", "hurried": "ending", "ended": "ended"},
    "ended": {},
}


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("state", STATES, ids=WORDS)
def test_what_may_follow_what(state: State, deed: str) -> None:
    try:
        after = DEEDS[deed](replace(BORN, state=state))
    except AssertionError:
        after = None
    assert (after.state.word if after else None) == FOLLOWS[state.word].get(deed)


def test_a_state_has_its_own_data_and_no_other() -> None:
    assert [{each.name for each in fields(state)} for state in STATES] == [
        set(),
        set(),
        {"intent"},
        {"ending", "intent"},
    ]
    beside = {"exit", "intent", "ending", "ended_at", "reason", "how"}
    assert not beside & {each.name for each in fields(Session)}


def test_what_was_wanted_is_kept_past_the_end() -> None:
    wanted = BORN.to_end(INTENT)
    assert wanted is not None
    assert [intent_of(each.state) for each in (BORN, wanted, wanted.ended(ENDING))] == [None, INTENT, INTENT]
    assert intent_of(BORN.ended(ENDING).state) is None  # it left by itself


def test_it_is_asked_once() -> None:
    asked = replace(BORN, state=BeingEnded(INTENT)).asked(11.5, 1.5)
    assert asked is not None
    assert asked.state == BeingEnded(replace(INTENT, asked_at=11.5, asked_on=1.5))
    assert asked.asked(12.5, 2.5) is None


def test_who_loses_patience_ends_the_asking_and_may_shorten_the_grace() -> None:
    ending = replace(BORN, state=BeingEnded(INTENT))
    hurried = ending.hurried(60.0)
    assert hurried is not None
    assert hurried.state == BeingEnded(replace(INTENT, ask=0.0, how=How.KILLED)), "a longer grace counts for nothing"
    assert hurried.hurried(5.0) is None
    again = hurried.hurried(1.0)
    assert again is not None
    assert again.state == BeingEnded(replace(INTENT, ask=0.0, grace=1.0, how=How.KILLED))


def test_only_what_is_being_ended_is_asked() -> None:
    assert [asking(state) for state in STATES] == [0.0, 0.0, 10.0, 0.0]


@pytest.mark.parametrize(("at", "recorded"), [(9.0, 10.5), (12.0, 12.0)])
def test_nothing_ends_before_it_has_started(at: float, recorded: float) -> None:
    """The clock may have been set back."""
    session = BORN.started(10.5, None, None).ended(replace(ENDING, at=at))
    assert session.state == HasEnded(replace(ENDING, at=recorded))
    assert (session.ended_at, session.alive) == (recorded, False)
