"""`lamp replay`: a recording on a terminal, forward and back, and what a recording must not do to that terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lamplighter.frontends.cli.terminal.playback import Playback, SavedRecording
from lamplighter.frontends.cli.terminal.player import KEY, NAMES
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def cast(*events: tuple[float, str]) -> str:
    header = json.dumps({"version": 2, "width": 80, "height": 24})
    return "\n".join([header, *(json.dumps([at, "o", text]) for at, text in events)]) + "\n"


THREE = SavedRecording(cast((0.0, "a"), (10.0, "b"), (100.0, "c")))


def test_it_goes_on_with_time_and_says_when_there_is_more() -> None:
    playback = Playback(THREE, 1000.0, speed=2.0)
    assert (playback.take(1000.0), playback.wait(1000.0)) == ("a", 5.0)
    assert (playback.take(1004.9), playback.take(1005.0), playback.take(1006.0)) == ("", "b", "")
    assert not playback.is_over(1049.0)
    assert (playback.take(1060.0), playback.is_over(1060.0)) == ("c", True)


def test_it_stops_goes_on_and_changes_speed_without_losing_its_place() -> None:
    playback = Playback(THREE, 0.0)
    playback.take(4.0)
    playback.pause(4.0)
    assert (playback.take(500.0), playback.wait(500.0), playback.at(500.0), playback.is_over(500.0)) == (
        "",
        None,
        4.0,
        False,
    )
    playback.pause(500.0)
    playback.change_speed(502.0, 2.0)
    assert (playback.at(502.0), playback.at(503.0), playback.take(504.0)) == (6.0, 8.0, "b")


def test_it_jumps_both_ways_and_draws_what_was_there() -> None:
    playback = Playback(THREE, 0.0)
    assert playback.jump(0.0, 50.0) == "ab"
    assert playback.jump(0.0, -5.0) == "a"
    assert playback.jump(0.0, 1e9) == "abc"
    assert playback.is_over(0.0)
    playback.jump(0.0, 0.0)
    assert (playback.step(1.0), playback.paused, playback.at(99.0)) == ("b", True, 10.0)
    assert (playback.step(99.0), playback.step(99.0)) == ("c", "")


def test_it_draws_from_the_last_reset_and_cuts_pauses() -> None:
    recording = SavedRecording(cast((1.0, "lost"), (2.0, "\x1bckept"), (900.0, "more")), 3.0)
    assert (recording.seconds, recording.drawn(3), recording.drawn(1)) == (5.0, "\x1bckeptmore", "lost")


@pytest.mark.parametrize(
    "question",
    ["\x1b[6n", "\x1b[c", "\x1b[>c", "\x1b[>0q", "\x1b[?2026$p", "\x1b[?u", "\x1b[18t", "\x1b]11;?\x07", "\x1b]4;1;?\x1b\\",
     "\x1b]52;c;aGk=\x07", "\x1bP+q544e\x1b\\", "\x05"],
)  # fmt: skip
def test_what_a_terminal_would_answer_is_not_asked_again(question: str) -> None:
    """Also when it was printed in two halves; the answer would be typed into the shell."""
    for cut in range(len(question) + 1):
        halves = cast((0.0, f"x\x1b[31m{question[:cut]}"), (1.0, f"{question[cut:]}y"))
        assert SavedRecording(halves).drawn(2) == "x\x1b[31my", cut


def test_an_empty_recording_is_over_at_once() -> None:
    for text in ("", cast()):
        playback = Playback(SavedRecording(text), 0.0)
        assert (playback.take(0.0), playback.is_over(0.0)) == ("", True)


def test_keys_are_told_from_answers_of_the_terminal() -> None:
    typed = b" \x1b[C\x1b]11;rgb:0/0/0\x07q\x1b[24;80R\x1bP1+r\x1b\\5\x1bOD"
    assert [NAMES.get(one, one) for one in KEY.findall(typed)] == [
        b" ", "right", b"\x1b]11;rgb:0/0/0\x07", b"q", b"\x1b[24;80R", b"\x1bP1+r\x1b\\", b"5", "left"
    ]  # fmt: skip
    for begun in (b"\x1b", b"\x1b[", b"\x1b[1;", b"\x1b]11;rgb"):
        assert not KEY.match(begun), "the rest comes with the next read"


def test_a_recording_is_played_to_its_end(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", "echo alpha; read x; echo omega", name="one")
    lit.call("wait_session", session="one", until="text=alpha", since=0, timeout="120s")
    lit.call("send_input", session="one", text="on")
    lit.call("wait_session", session="one", timeout="120s")
    someone = person("replay", "one", "--speed", "1000x")
    someone.until("omega", someone.until("alpha"))
    someone.until("[ended at ")
    assert someone.finish() == 0
    assert someone.terminal_is_as_before()


def test_a_person_stops_it_goes_to_the_end_and_leaves(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", "echo alpha; read x; echo omega", name="one")
    lit.call("wait_session", session="one", until="text=alpha", since=0, timeout="120s")
    lit.call("send_input", session="one", text="on")
    lit.call("wait_session", session="one", timeout="120s")
    someone = person("replay", "one", "--paused")
    someone.until("arrows jump")
    someone.type("G")
    there = someone.until("arrows jump", someone.until("omega"))
    someone.type("g")
    someone.until("arrows jump", someone.until("alpha", there))
    someone.type("q")
    someone.until("[left at 0:00 of ")
    assert someone.finish() == 0
    assert someone.terminal_is_as_before()


def test_it_says_what_it_needs(lit: Engine) -> None:
    lit.start("true", name="one", headless=True)
    done = lit.cli("replay", "one", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["hint"].split(" > ")[0]) == (2, "lamp read one --cast")
