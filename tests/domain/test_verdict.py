"""The rules of the verdict, by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.text.output_tail import Tail, redraws, tail_of, words_of
from lamplighter.domain.verdict import ACTIVE, Evidence, Rest, Thresholds, Verdict, judge, quiet_for

LIMITS = Thresholds()
LONG = 100_000.0
STILL = Evidence(processes=1, cpu_rate=0.0, still_for=LONG, output_age=LONG, age=LONG, rest=Rest.INPUT, front="it")


def verdict(seen: Evidence) -> Verdict:
    return judge(seen, LIMITS)[0]


def test_no_processes_is_unknown() -> None:
    assert verdict(Evidence(age=LONG)) is Verdict.UNKNOWN


def test_not_measured_is_unknown() -> None:
    assert verdict(Evidence(processes=1, age=LONG, rest=Rest.KEYS, still_for=LONG)) is Verdict.UNKNOWN


ages = st.none() | st.floats(0, LONG)
evidence = st.builds(
    Evidence,
    leftovers=st.just(False),
    processes=st.integers(0, 5),
    cpu_rate=st.none() | st.floats(0, 2),
    behind_rate=st.none() | st.floats(0, 2),
    cpu_age=ages,
    still_for=st.floats(0, LONG),
    output_age=ages,
    input_age=ages,
    repeats_for=st.floats(0, LONG),
    age=st.floats(0, LONG),
    rest=st.none() | st.sampled_from(Rest),
    front=st.just("it"),
    sleeps=st.booleans(),
    background=st.none() | st.just("job"),
    woke_age=ages,
    deep_for=st.floats(0, LONG),
    tail=st.none() | st.builds(Tail, st.text(max_size=5), st.booleans(), st.booleans()),
    terminal=st.booleans(),
    closed=st.booleans(),
    gone=st.none() | st.just("its parent is gone"),
)


@given(evidence)
def test_what_cannot_be_known_is_never_at_rest(seen: Evidence) -> None:
    if seen.processes == 0 or (seen.cpu_rate is None and not seen.cpu_age):
        assert verdict(seen) in ACTIVE


@given(evidence)
def test_what_computes_is_working(seen: Evidence) -> None:
    if seen.processes and seen.cpu_rate is not None and seen.cpu_rate >= 0.25:
        assert verdict(seen) is Verdict.WORKING


@given(evidence)
def test_nothing_is_at_rest_that_moved_a_moment_ago(seen: Evidence) -> None:
    moved = any(age is not None and age < LIMITS.quiet for age in (seen.output_age, seen.input_age, seen.age))
    if moved and seen.repeats_for < LIMITS.spin:
        assert verdict(seen) in ACTIVE


@given(evidence)
def test_what_waits_for_a_child_is_not_idle(seen: Evidence) -> None:
    if seen.rest is Rest.CHILD:
        assert verdict(seen) is not Verdict.IDLE


GONE = replace(STILL, gone="its parent is gone", still_for=60.0)


@pytest.mark.parametrize(
    "seen",
    [
        replace(GONE, rest=Rest.CHILD, front="sleep", sleeps=True),
        replace(GONE, rest=Rest.TIMER, front="sleep"),
        replace(GONE, rest=Rest.TIMER, woke_age=0.5),
        replace(GONE, rest=Rest.OTHER, connected=True),
        replace(GONE, background="job"),
        replace(GONE, output_age=0.1, repeats_for=LONG, cpu_rate=0.1, behind_rate=0.0, rest=Rest.CHILD, sleeps=True),
    ],
)
def test_what_sleeps_or_waits_is_orphaned_without_its_owner(seen: Evidence) -> None:
    found, words = judge(seen, LIMITS)
    assert found is Verdict.ORPHANED
    assert words[0].startswith("its parent is gone")
    assert verdict(replace(seen, gone=None)) is not Verdict.ORPHANED


@pytest.mark.parametrize("more", [{"cpu_rate": 0.5}, {"output_age": 1.0}, {"rest": Rest.RUNNING}])
def test_what_computes_or_prints_without_its_owner_works_and_says_so(more: dict[str, Any]) -> None:
    found, words = judge(replace(GONE, **more), LIMITS)
    assert found is Verdict.WORKING
    assert "its parent is gone" in words


@given(evidence)
def test_without_its_owner_it_is_at_work_orphaned_or_unknown(seen: Evidence) -> None:
    found = verdict(replace(seen, gone="its parent is gone"))
    assert found in (Verdict.WORKING, Verdict.ORPHANED, Verdict.UNKNOWN)


QUIET = replace(STILL, age=900.0, input_age=800.0, output_age=700.0, busy_age=600.0, heavy_age=650.0)


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, 600.0),
        ({"input_age": 5.0}, 5.0),
        ({"output_age": 4.0}, 4.0),
        ({"age": 3.0}, 3.0),
        ({"rest": Rest.CHILD, "sleeps": True}, 600.0),
        ({"output_age": 0.1, "busy_age": 0.1, "repeats_for": 599.0}, 0.1),
        ({"output_age": 0.1, "busy_age": 0.1, "repeats_for": 640.0, "behind_rate": 0.0}, 640.0),
        ({"output_age": 0.1, "busy_age": 0.1, "repeats_for": 700.0, "behind_rate": 0.0, "heavy_age": 7.0}, 7.0),
        ({"told": ScreenReading(Sign.PROMPT), "busy_age": 0.1, "behind_rate": 0.0}, 650.0),
        ({"processes": 0}, 0.0),
    ],
)
def test_quiet_is_without_input_new_output_and_cpu(more: dict[str, Any], seconds: float) -> None:
    assert quiet_for(replace(QUIET, **more), LIMITS) == seconds


@given(evidence)
def test_every_verdict_says_why(seen: Evidence) -> None:
    found, words = judge(seen, LIMITS)
    assert words or found is Verdict.WORKING


@pytest.mark.parametrize(
    ("data", "prompt", "asks"),
    [(b"user@host:~$ ", True, False), (b"\x1b[?2004h\x1b[01;32mme\x1b[0m# ", True, False), (b">>> ", True, False),
     (b"mysql> ", True, False), (b"In [3]: ", True, False), (b"Name: ", False, False), (b"Continue? [Y/n] ", False, True),
     (b"Are you sure (yes/no/[fingerprint])? ", False, True), (b"Proceed? (y/n)\r\n", False, True),
     (b"[sudo] password for me: ", False, True), (b"Press any key to continue . . .", False, True),
     (b"\rold\rOverwrite? ", False, True), (b"done.\r\n", False, False), (b"", False, False)],
)  # fmt: skip
def test_the_end_of_output_is_read_as_a_person_would(data: bytes, prompt: bool, asks: bool) -> None:
    found = tail_of(b"something before\r\n" + data)
    assert (found.prompt, found.asks) == (prompt, asks)


@given(st.binary(max_size=300))
def test_any_output_can_be_read(data: bytes) -> None:
    tail_of(data)
    redraws(data)
    words_of(data)


def test_a_log_does_not_redraw_and_a_spinner_does() -> None:
    assert not redraws(b"GET / 200\r\r\nGET / 200\r\n")
    assert redraws(b"\r\x1b[2K| thinking")
    assert words_of("\r\x1b[2K⠋ Thinking… (12s)".encode()) == words_of("\r\x1b[2K⠙ Thinking… (907s)".encode())


QUESTION = Evidence(
    processes=1, cpu_rate=0.01, cpu_age=1.0, output_age=1.2, age=1.5, rest=Rest.INPUT, front="sh",
    tail=Tail("Proceed? [y/N]", prompt=False, asks=True),
)  # fmt: skip


def test_a_question_waits_at_once_and_a_line_that_asks_nothing_does_not() -> None:
    assert judge(QUESTION, LIMITS)[0] is Verdict.WAITING
    assert judge(QUESTION, LIMITS)[1][0] == "sh waits for an answer: Proceed? [y/N]"
    assert verdict(replace(QUESTION, rest=Rest.KEYS)) is Verdict.WAITING
    for other in (
        {"output_age": 0.5},  # more may come yet
        {"input_age": 0.5},  # it was just answered
        {"tail": Tail("working on it", prompt=False, asks=False)},
        {"rest": None},
        {"rest": Rest.RUNNING},
        {"rest": Rest.KEYS, "cpu_rate": 0.1},
        {"cpu_rate": 0.5},
        {"background": "job"},
        {"terminal": False},
    ):
        assert verdict(replace(QUESTION, **other)) is Verdict.WORKING, other
