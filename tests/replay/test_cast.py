"""Recordings: asciicast v2 lines out of a log."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.holder.log import LogWriter
from lamplighter.holder.segments import NO_STREAM, RESIZE, SIZE, STDERR, STDOUT, segments
from lamplighter.replay import keyframes
from lamplighter.replay.cast import recording
from lamplighter.replay.emulator import Emulator
from lamplighter.replay.screen import Screen


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def played(folder: str, title: str | None = None, since: int = 0) -> tuple[dict[str, Any], list[list[Any]]]:
    header, *events = [json.loads(line) for line in recording(folder, title, since)]
    return header, events


def shown(header: dict[str, Any], events: list[list[Any]]) -> list[str]:
    """What a terminal shows that plays it to its end."""
    terminal = Emulator(header["height"], header["width"], 100)
    for _, kind, data in events:
        if kind == "o":
            terminal.feed(data.encode())
        elif kind == "r":
            cols, rows = map(int, data.split("x"))
            terminal.resize(rows, cols)
    return terminal.plain(0, terminal.total - 1)


def terminal_log(folder: str, **limits: int) -> LogWriter:
    writer = LogWriter(folder, **limits)
    writer.append(RESIZE, NO_STREAM, SIZE.pack(24, 80), 1000.25)
    return writer


def rotated_log(folder: str, behind: int = 0) -> LogWriter:
    """One whose beginning is gone, with "top line" on the alternate screen; a keyframe a segment, so far behind its start."""
    writer = terminal_log(folder, limit=4096, segment=1024)
    writer.append_output(b"\x1b[?1049htop line", STDOUT, 1001)
    screen = Screen(folder)
    while segments(folder)[0].start == 0:
        if writer.append_output(b"\x1b[7m" * 20, STDOUT, 1002):
            screen.advance_to(writer.offset - behind)
            keyframes.write(folder, screen.keyframe())
    return writer


def test_a_recording(folder: str) -> None:
    writer = terminal_log(folder)
    writer.append_output(b"hello\r\n", STDOUT, 1000.75)
    writer.append(RESIZE, NO_STREAM, SIZE.pack(24, 80), 1001)
    writer.append(RESIZE, NO_STREAM, SIZE.pack(30, 100), 1001.25)
    writer.append_output("漢 \x1b[1m".encode(), STDOUT, 1002.25)
    header, events = played(folder, "my title")
    assert header == {"version": 2, "width": 80, "height": 24, "timestamp": 1000, "title": "my title"}
    assert events == [[0.5, "o", "hello\r\n"], [1.0, "r", "100x30"], [2.0, "o", "漢 \x1b[1m"]]
    assert all("\n" not in line for line in recording(folder))


def test_characters_cut_between_frames(folder: str) -> None:
    writer = terminal_log(folder)
    for byte in "a漢\U0001f600".encode():
        writer.append_output(bytes([byte]), STDOUT, 1001)
    assert "".join(event[2] for event in played(folder)[1]) == "a漢\U0001f600"


def test_broken_bytes_are_replaced(folder: str) -> None:
    writer = terminal_log(folder)
    writer.append_output(b"a\xffb\xe6\xbc", STDOUT, 1001)
    assert "".join(event[2] for event in played(folder)[1]) == "a\ufffdb\ufffd"


def test_a_gap_is_a_marker(folder: str) -> None:
    writer = terminal_log(folder)
    writer.append_output(b"a\xe6", STDOUT, 1001.25)
    writer.lose(10, "disk full")
    writer.append_output(b"b", STDOUT, 1002.25)
    assert played(folder)[1] == [
        [1.0, "o", "a"],
        [2.0, "o", "\ufffd"],
        [2.0, "m", "10 bytes of output lost: disk full"],
        [2.0, "o", "b"],
    ]


def test_without_a_terminal_both_streams_are_output(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output("out\nä".encode()[:-1], STDOUT, 5)
    writer.append_output(b"err\r\n", STDERR, 6)
    writer.append_output("ä".encode()[-1:], STDOUT, 7)
    header, events = played(folder)
    assert (header["width"], header["height"]) == (80, 24)
    assert events == [[0.0, "o", "out\r\n"], [1.0, "o", "err\r\n"], [2.0, "o", "ä"]]


def test_time_never_runs_backwards(folder: str) -> None:
    writer = terminal_log(folder)
    for now in (1003.25, 1001.25, 1004.25):
        writer.append_output(b"x", STDOUT, now)
    assert [event[0] for event in played(folder)[1]] == [3.0, 3.0, 4.0]


def test_nothing_written_is_a_header_alone(folder: str) -> None:
    assert played(folder) == ({"version": 2, "width": 80, "height": 24, "timestamp": 0}, [])
    terminal_log(folder)
    assert played(folder) == ({"version": 2, "width": 80, "height": 24, "timestamp": 1000}, [])


def test_a_lost_beginning_is_set_right_by_the_first_keyframe(folder: str) -> None:
    writer = rotated_log(folder, behind=3)  # in the middle of a frame, and of a sequence
    _, events = played(folder)
    first = segments(folder)[0].start
    assert events[0][1:] == ["m", f"{first} bytes of output lost: rotated"]
    repaired = [event[2] for event in events if "top line" in event[2]]
    assert len(repaired) == 1
    assert repaired[0].startswith("\x1bc")
    kept = sum(event[2].count("\x1b[7m") for event in events)
    assert kept >= (writer.offset - first) // 4 - 1


def test_a_recording_from_anywhere_ends_with_the_same_screen(folder: str) -> None:
    writer = terminal_log(folder)
    pieces = ["\x1b[?1049h\x1b[2;9Htop \U0001f600", "\x1b[3;5r\x1b[31m", "a漢b\r\n", "\x1b[5;1Hlast"]
    for number, piece in enumerate(pieces):
        writer.append_output(piece.encode(), STDOUT, 1001.25 + number)
        writer.append(RESIZE, NO_STREAM, SIZE.pack(24 - number, 80 - number), 1001.25 + number)
    whole = shown(*played(folder))
    assert any("top \U0001f600" in line for line in whole)
    for since in range(writer.offset + 1):
        header, events = played(folder, "late", since)
        assert shown(header, events) == whole, since
        assert [event[0] for event in events] == sorted(event[0] for event in events)
        assert events[0][0] == 0 or since == 0
    header, events = played(folder, since=writer.offset - len(pieces[-1]))
    assert header == {"version": 2, "width": 78, "height": 22, "timestamp": 1003}
    assert events[1:] == [[1.0, "o", pieces[-1]], [1.0, "r", "77x21"]]


def test_a_log_from_within_a_character(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output("漢字\nrest\n".encode(), STDOUT, 5)
    writer.append_output(b"end\n", STDOUT, 7)
    assert played(folder, since=4)[1] == [[0.0, "o", "\r\nrest\r\n"], [2.0, "o", "end\r\n"]]


def test_a_log_from_within_a_character_that_was_cut(folder: str) -> None:
    writer = LogWriter(folder)
    for byte in "a\U0001f600b".encode():
        writer.append_output(bytes([byte]), STDOUT, 1)
        writer.append_output(b"-", STDERR, 1)
    for since in range(3, 10):
        assert "".join(event[2] for event in played(folder, since=since)[1]).replace("-", "") == "b"


def test_a_recording_from_before_the_first_keyframe_is_set_right_by_it(folder: str) -> None:
    """All before was rotated away, and with it that it is on the alternate screen."""
    rotated_log(folder)
    first = segments(folder)[0].start
    assert keyframes.first(folder, first) is not None
    for since in (first, first + 1, first + 50):
        shown = Emulator(24, 80)
        shown.feed("".join(event[2] for event in played(folder, since=since)[1] if event[1] == "o").encode())
        assert (shown.plain(0, 0), shown.alternate) == (["top line"], True), since


def test_a_recording_from_before_what_is_kept_is_all_that_is_kept(folder: str) -> None:
    writer = terminal_log(folder, limit=4096, segment=1024)
    while segments(folder)[0].start == 0:
        writer.append_output(b"x" * 100, STDOUT, 1002)
    first = segments(folder)[0].start
    assert played(folder, since=first) == played(folder, since=1) == played(folder)
    assert played(folder)[1][0][1:] == ["m", f"{first} bytes of output lost: rotated"]
    assert all(event[1] == "o" for event in played(folder, since=first + 1)[1])


@settings(max_examples=80, deadline=None)
@given(st.text(), st.lists(st.integers(1, 9), min_size=1))
def test_any_text_in_any_pieces(text: str, sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = terminal_log(folder, segment=1024)
        rest, turn = text.encode("utf-8", "replace"), 0
        while rest:
            size = sizes[turn % len(sizes)]
            writer.append_output(rest[:size], STDOUT, 1001)
            rest, turn = rest[size:], turn + 1
        writer.close()
        said = "".join(event[2] for event in played(folder)[1] if event[1] == "o")
        assert said == text.encode("utf-8", "replace").decode()
