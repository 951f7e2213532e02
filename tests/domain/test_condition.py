"""What can be waited for, in words."""

from __future__ import annotations

import pytest

from lamplighter.domain.condition import has_failed, parse_conditions, reads_output
from lamplighter.domain.ending import Exit, How
from lamplighter.errors import Code, InputError


@pytest.mark.parametrize(
    ("given", "expected"),
    [("ended", ("ended",)), ("waiting,ended", ("waiting", "ended")), (" idle , waiting ", ("idle", "waiting")),
     ("ended,ended", ("ended",)), ("text=a,ended", ("text=a,ended",)), ("ended,text=a, b", ("ended", "text=a, b")),
     ("text= a ", ("text= a ",)),
     (["text=a,b", "ended"], ("text=a,b", "ended")), (["idle,ended", "reply"], ("idle", "ended", "reply"))],
)  # fmt: skip
def test_several_are_apart_by_commas(given: str | list[str], expected: tuple[str, ...]) -> None:
    assert parse_conditions(given) == expected


@pytest.mark.parametrize(
    "given", ["", ",", "rain", "ended,", ",ended", "ended,,idle", "text=", "ended,rain", "IDLE", [], ["ended", "x"]]
)
def test_what_cannot_be_waited_for_is_refused(given: str | list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_conditions(given)
    assert caught.value.code is Code.BAD_INPUT
    assert "ended, idle, waiting, reply or text=…" in caught.value.hint


@pytest.mark.parametrize(
    ("exit_", "how", "failed"),
    [(Exit(0), How.EXITED, False), (Exit(3), How.EXITED, True), (Exit(signal="KILL"), How.KILLED, True), (None, How.LOST, True),
     (Exit(0), How.LOST, True), (None, How.ASKED, False), (Exit(), How.EXITED, False), (Exit(0), How.ASKED, False)],
)  # fmt: skip
def test_a_bad_end_is_a_failure_and_an_unknown_one_is_not(exit_: Exit | None, how: How, failed: bool) -> None:
    assert has_failed(exit_, how) is failed


def test_only_words_of_its_own_read_output() -> None:
    assert [reads_output(one) for one in ("ended", "idle", "waiting", "reply", "text=x")] == [
        False,
        False,
        False,
        True,
        True,
    ]
