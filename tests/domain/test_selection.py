"""The grammar of selections: what each term means, and that no text does anything but parse or teach."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.ending import Certificate, Ending, Guarantee, How, Intent
from lamplighter.domain.facts import Facts
from lamplighter.domain.name import host_name
from lamplighter.domain.permission import OPERATOR, Caller, Rank
from lamplighter.domain.selection import (
    FLAGS,
    KEYS,
    LONGEST,
    VERDICTS,
    Selection,
    SelectionSubject,
    Term,
    parse_selection,
    suggestion,
)
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.states import BeingEnded, HasEnded, Running
from lamplighter.domain.verdict import Verdict, is_active
from lamplighter.errors import Code, LampError

ENDED = HasEnded(Ending(1.0, "itself", "", How.EXITED, None, Certificate(Guarantee.TREE, 0.0)))
AGENT = Caller(Rank.SESSION, "session:0aaaaaaa", "0aaaaaaa")


def session(**given: Any) -> Session:
    values: dict[str, Any] = {
        "id": "0abcdefg",
        "name": "one",
        "kind": Kind.TASK,
        "driver": Driver.TERMINAL,
        "owner": "operator",
        "command": ("cat",),
        "cwd": "/",
        "created_at": 0.0,
        "boot": "boot",
        "state": Running(),
        **given,
    }
    return Session(**values)


def on(host: str, text: str) -> bool:
    return parse_selection(text).matches(SelectionSubject(session(), host=host), OPERATOR, {})


def test_a_host_is_known_by_its_name_and_as_here() -> None:
    for text in ("host:box1", "host:box*", "host:*", "host:here", "host:box1,kind:task"):
        assert on("box1", text)
    for text in ("host:box", "host:box2", "host:laptop+host:ci-*", "host:here,kind:cron"):
        assert not on("box1", text)
    assert parse_selection("host:*").words == []


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("box1", "box1"),
        ("Box1.example.org", "box1"),
        ("my_laptop", "my-laptop"),
        ("-x-", "x"),
        ("é", "localhost"),
        ("", "localhost"),
        ("a" * 31 + "-bc", "a" * 31),
    ],
)
def test_what_a_host_is_called(node: str, name: str) -> None:
    assert host_name(node) == name


def chosen(text: str, verdict: Verdict = Verdict.IDLE, attached: int = 0, by: Caller = OPERATOR, **given: Any) -> bool:
    one = session(**given)
    named = {"0abcdefg": "0abcdefg", "0abc": "0abcdefg", "one": "0abcdefg", "dad": "0father0"}
    return parse_selection(text).matches(
        SelectionSubject(one, verdict, is_active(verdict, attached), attached), by, named
    )


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_chooses_its_own(verdict: str) -> None:
    state = ENDED if verdict == "ended" else Running()
    assert chosen(verdict, Verdict(verdict), state=state)
    for other in set(VERDICTS) - {verdict}:
        assert not chosen(other, Verdict(verdict), state=state)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("", {}),
        ("  ", {}),
        ("protected", {"protected": True}),
        ("kind:cron", {"kind": Kind.CRON}),
        ("driver:headless", {"driver": Driver.HEADLESS}),
        ("state:ending", {"state": BeingEnded(Intent("operator", "", How.ASKED, 5.0, 1.0))}),
        ("agent:cl*", {"agent": "claude"}),
        ("project:web*", {"project": "web site"}),
        ("project:web site", {"project": "web site"}),
        ("owner:agent:claude:*", {"owner": "agent:claude:12@34"}),
        ("parent:dad", {"parent": "0father0"}),
        ("name:cron:nightly:*", {"name": "cron:nightly:42"}),
        ("name:idle", {"name": "idle"}),
        ("cron:*", {"name": "cron:nightly:42"}),
        ("cron:nightly:42", {"name": "cron:nightly:42"}),
        ("cron:nightly:4[0-3]", {"name": "cron:nightly:42"}),
        ("job-?", {"name": "job-1"}),
        ("0abcdefg", {"name": "other"}),
        ("0abc", {"name": "other"}),
        ("stuck+idle", {}),
        (" idle , kind:task + stuck ", {}),
        ("stuck,kind:task+idle,kind:task", {}),
        ("mine", {"owner": "operator"}),
    ],
)
def test_what_matches(text: str, given: dict[str, Any]) -> None:
    assert chosen(text, **given)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("protected", {}),
        ("attached", {}),
        ("active", {}),
        ("kind:cron", {}),
        ("project:*", {}),
        ("project:web", {"project": "web site"}),
        ("parent:dad", {}),
        ("Cron:*", {"name": "cron:1"}),
        ("cron:?", {"name": "cron:12"}),
        ("idle,kind:cron", {}),
        ("stuck+kind:cron,idle", {}),
        ("mine", {"owner": "session:0aaaaaaa"}),
        ("name:on", {"name": "one"}),
    ],
)
def test_what_does_not(text: str, given: dict[str, Any]) -> None:
    assert not chosen(text, **given)


def test_active_and_attached_are_what_the_look_said() -> None:
    for verdict in (Verdict.WORKING, Verdict.WAITING, Verdict.UNKNOWN):
        assert chosen("active", verdict)
    assert chosen("active", Verdict.IDLE, attached=1)
    assert chosen("attached", Verdict.IDLE, attached=2)


def test_mine_is_what_i_started_and_what_that_started() -> None:
    assert chosen("mine", by=AGENT, owner="session:0aaaaaaa")
    assert chosen(
        "mine",
        by=AGENT,
        owner="operator",
        facts=Facts(line=("0bbbbbbb", "x", "0aaaaaaa", "operator")),
    )
    assert not chosen("mine", by=AGENT, owner="operator", facts=Facts(line=("0bbbbbbb", "operator")))
    program = Caller(Rank.AGENT, "agent:claude:1@2")
    assert chosen("mine", by=program, owner="session:0x", facts=Facts(line=("0x", "agent:claude:1@2")))
    assert not chosen("mine", owner="session:0x", facts=Facts(line=("0x", "operator"))), (
        "the operator owns, and no more"
    )


def test_before_a_verdict_is_reached_terms_about_it_hold() -> None:
    living, ended = SelectionSubject(session()), SelectionSubject(session(state=ENDED))
    for text in ("idle", "active", "attached"):
        assert parse_selection(text).matches(living, OPERATOR, {})
        assert not parse_selection(text).matches(ended, OPERATOR, {})
    assert not parse_selection("ended").matches(living, OPERATOR, {})
    assert not parse_selection("idle,kind:cron").matches(living, OPERATOR, {})


def test_words_that_must_name_a_session() -> None:
    assert parse_selection("one+two,idle+cron:*,parent:dad+one").words == ["one", "two", "dad"]


@pytest.mark.parametrize(("text", "wanted"), [("ended", True), ("idle+state:ended", True), ("idle", False)])
def test_ended_ones_are_asked_for_by_that_word(text: str, wanted: bool) -> None:
    assert parse_selection(text).wants_ended is wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (",", "character 1"),
        ("idle,", "character 6"),
        ("idle,,stuck", "character 6"),
        ("idle++stuck", "character 6"),
        ("+idle", "character 1"),
        ("idle stuck", "nothing between"),
        ("idle, kind:", "kind: needs a value, at character 7"),
        ("idle,kind:crom", "character 6"),
        ("driver:vim", "no driver"),
        ("state:*", "no state"),
        ("a[b", "bracket at character 2"),
        ("a[]", "bracket"),
        ("a\x1bb", "character 2"),
        ("idle\0", "character 5"),
        ("x" * (LONGEST + 1), "1000"),
    ],
)
def test_garbage_teaches(text: str, said: str) -> None:
    with pytest.raises(LampError) as caught:
        parse_selection(text)
    assert caught.value.code is Code.BAD_INPUT
    assert said in caught.value.message
    assert caught.value.hint


def test_a_misspelt_word_is_recognised() -> None:
    assert "did you mean orphaned?" in suggestion("orphand", [])
    assert "did you mean nightly?" in suggestion("nigthly", ["nightly", "web"])
    assert "did you mean kind:" in suggestion("knd:cron", [])
    assert "did you mean cron?" in _hint("kind:crn")
    assert "did you mean" not in suggestion("zzzz", [])


def _hint(text: str) -> str:
    with pytest.raises(LampError) as caught:
        parse_selection(text)
    return caught.value.hint


@given(st.text(max_size=60) | st.text(alphabet="ab*?[]!-:,+ \tkind:owner", max_size=60))
def test_no_text_does_anything_but_parse_or_teach(text: str) -> None:
    selection = _parsed(text)
    if isinstance(selection, LampError):
        assert (selection.code, bool(selection.hint)) == (Code.BAD_INPUT, True)
        return
    assert parse_selection(str(selection)) == selection
    selection.matches(SelectionSubject(session(), Verdict.IDLE), OPERATOR, {})


def _parsed(text: str) -> Selection | LampError:
    try:
        return parse_selection(text)
    except LampError as error:
        return error


_plain = st.text(alphabet="abcXYZ019._:@/#=-*?", min_size=1, max_size=12)
_terms = st.one_of(
    st.sampled_from([Term("verdict", word) for word in VERDICTS] + [Term("flag", word) for word in FLAGS]),
    st.builds(Term, st.sampled_from([key for key in KEYS if key not in ("kind", "driver", "state")]), _plain),
    st.sampled_from([Term("kind", kind.value) for kind in Kind]),
)
_groups = st.lists(
    st.lists(_terms, min_size=1, max_size=4, unique=True).map(tuple), min_size=1, max_size=4, unique=True
)


@given(_groups.map(tuple))
def test_printing_and_parsing_again_gives_the_same(groups: tuple[tuple[Term, ...], ...]) -> None:
    selection = Selection(groups)
    assert parse_selection(str(selection)) == selection
