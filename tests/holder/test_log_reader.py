"""Reading a log: by cursor, nothing twice, nothing left out in silence, whatever happens to the files meanwhile."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.holder import log_reader
from lamplighter.holder.log import LogWriter
from lamplighter.holder.log_reader import Chunk, Gap, LogPage, LogReader
from lamplighter.holder.segments import EXIT, HEADER, INPUT, NO_STREAM, OUTPUT, RESIZE, SIZE, STDERR, STDOUT, segments

SMALL = 1024


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def files(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("log-"))


def test_streams_are_told_apart_and_runs_joined(folder: str) -> None:
    writer = LogWriter(folder)
    for stream, data, now in ((STDOUT, b"ab", 1), (STDOUT, b"cd", 2), (STDERR, b"e", 3), (STDOUT, b"f", 4)):
        writer.append_output(data, stream, now)
    assert LogReader(folder).read(1).chunks == [
        Chunk(1, STDOUT, 1, b"bcd"),
        Chunk(4, STDERR, 3, b"e"),
        Chunk(5, STDOUT, 4, b"f"),
    ]


def test_an_empty_or_missing_folder_has_nothing(folder: str) -> None:
    for place in (folder, folder + "/nowhere"):
        assert LogReader(place).read(0) == LogPage(0, 0, [], [], True)
        assert LogReader(place).read(7).next_cursor == 7
        assert list(LogReader(place).frames()) == []
        assert LogReader(place).tail_lines(3).data == b""


def test_a_cursor_beyond_the_end_waits_for_it(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output(b"0123", STDOUT, 0)
    reader = LogReader(folder)
    assert reader.read(6) == LogPage(6, 6, [], [], True)
    writer.append_output(b"456789", STDOUT, 0)
    assert reader.read(6).data == b"6789"


def test_bad_arguments_are_refused(folder: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        LogReader(folder).read(-1)
    with pytest.raises(ValueError, match="room"):
        LogReader(folder).read(0, 0)


@pytest.mark.parametrize("damage", [b"\0" * 24, b"\xff" * 24, HEADER.pack(1, 1, 0, 5, 999, 0)])
def test_garbage_is_skipped_to_the_next_segment_and_said(folder: str, damage: bytes) -> None:
    writer = LogWriter(folder, segment=SMALL)
    for number in range(6):
        writer.append_output(b"%d" % number * 300, STDOUT, 0)
    first, second, *_ = segments(folder)
    with open(Path(folder, first.name), "r+b") as file:
        file.seek(324)
        file.write(damage)
    reader = LogReader(folder)
    page = reader.read(0, 1 << 20)
    assert page.gaps == [Gap(300, second.start - 300, "damaged")]
    assert page.data == b"0" * 300 + b"".join(b"%d" % n * 300 for n in range(6))[second.start :]
    assert page.next_cursor == writer.offset == 1800


def test_garbage_in_the_last_segment_ends_it_until_there_is_another(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output(b"good", STDOUT, 0)
    with open(Path(folder, files(folder)[0]), "ab") as file:
        file.write(b"\0" * 100)
    reader = LogReader(folder)
    assert reader.read(0).data == b"good"
    assert reader.read(4).end
    again = LogWriter(folder)
    again.append_output(b" again", STDOUT, 0)
    assert reader.read(4).data == b" again"


def test_segments_deleted_while_reading(folder: str) -> None:
    writer = LogWriter(folder, segment=SMALL)
    for number in range(9):
        writer.append_output(b"%d" % number * 300, STDOUT, 0)
    reader = LogReader(folder)
    assert reader.read(0, 10).data == b"0" * 10
    *old, last = segments(folder)
    for segment in old:
        os.unlink(Path(folder, segment.name))
    page = reader.read(10, 1 << 20)
    # The file that was open is still read to its end.
    kept = len(page.chunks[0].data)
    assert page.gaps == [Gap(10 + kept, last.start - 10 - kept, "rotated")]
    assert page.next_cursor == writer.offset


def test_a_reader_that_was_closed_goes_on(folder: str) -> None:
    writer = LogWriter(folder, segment=SMALL)
    writer.append_output(b"one", STDOUT, 0)
    with LogReader(folder) as reader:
        assert reader.read(0).data == b"one"
    writer.append_output(b"two" * 200, STDOUT, 0)
    assert reader.read(3).data == b"two" * 200
    reader.close()
    os.unlink(Path(folder, files(folder)[0]))
    writer.append_output(b"three" * 100, STDOUT, 0)
    assert reader.read(603).data == b"three" * 100


def test_polling_does_not_read_again_what_was_read(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = LogWriter(folder)
    for _ in range(2000):
        writer.append_output(b"z" * 100, STDOUT, 0)
    reader = LogReader(folder)
    cursor = reader.read(0, 1 << 20).next_cursor
    fetched: list[int] = []
    pread = os.pread

    def counting(fd: int, size: int, position: int) -> bytes:
        data = pread(fd, size, position)
        fetched.append(len(data))
        return data

    monkeypatch.setattr(log_reader.os, "pread", counting)
    for _ in range(100):
        writer.append_output(b"z" * 100, STDOUT, 0)
        page = reader.read(cursor)
        assert page.data == b"z" * 100
        cursor = page.next_cursor
    assert sum(fetched) == 100 * 124


def test_frames_go_on_where_they_were_left(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output(b"abc", STDOUT, 1)
    writer.append(RESIZE, NO_STREAM, SIZE.pack(2, 3), 2)
    reader = LogReader(folder)
    assert [frame.kind for frame in reader.frames()] == [OUTPUT, RESIZE]
    writer.append_output(b"def", STDOUT, 3)
    assert [frame.payload for frame in reader.frames(3)] == [b"def"]
    for frame in LogReader(folder).frames(1):
        assert (frame.offset, frame.payload) == (1, b"bc")
        break


def test_two_walks_at_once_are_refused(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output(b"a", STDOUT, 1)
    writer.append_output(b"b", STDOUT, 1)
    reader = LogReader(folder)
    frames = reader.frames()
    next(frames)
    reader.read(0)
    with pytest.raises(RuntimeError, match="elsewhere"):
        next(frames)


@pytest.mark.parametrize("ending", [b"", b"\n", b"no newline"])
@pytest.mark.parametrize("count", [1, 2, 5, 60, 200])
def test_the_last_lines(folder: str, count: int, ending: bytes) -> None:
    writer = LogWriter(folder, segment=SMALL)
    text = b"".join(b"line %d\n" % number for number in range(100)) + ending
    for begin in range(0, len(text), 7):
        writer.append_output(text[begin : begin + 7], STDOUT, 0)
    page = LogReader(folder).tail_lines(count)
    assert page.data == b"".join(text.splitlines(keepends=True)[-count:])
    assert page.next_cursor == len(text)
    assert page.end


def test_the_last_lines_when_they_are_long(folder: str) -> None:
    LogWriter(folder).append_output(b"x" * 10_000, STDOUT, 0)
    assert LogReader(folder).tail_lines(2, max_bytes=100).data == b"x" * 100


# Whatever the pieces


acts = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.binary(min_size=1, max_size=900), st.sampled_from([STDOUT, STDERR])),
        st.tuples(st.just("read"), st.integers(1, 2000), st.just(0)),
        st.tuples(st.just("other"), st.binary(max_size=50), st.sampled_from([INPUT, EXIT])),
        st.tuples(st.just("restart"), st.just(0), st.booleans()),
        st.tuples(st.just("lose"), st.integers(1, 50), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(acts, st.sampled_from([2, 4, 1000]))
def test_any_history_is_read_back(history: list[tuple[str, object, int]], kept: int) -> None:
    """Every byte comes once, at its offset, or is said to be lost; also for a reader that follows all the time."""
    with tempfile.TemporaryDirectory() as folder:
        writer = LogWriter(folder, limit=kept * SMALL, segment=SMALL)
        truth = bytearray()
        seen: dict[int, bytes] = {}
        lost: list[Gap] = []
        reader, cursor = LogReader(folder), 0
        for act, what, detail in [*history, ("write", b"end", STDOUT), ("read", 1 << 20, 0)]:
            if act == "write" and isinstance(what, bytes):
                writer.append_output(what, detail, 0.5)
                truth += what
            elif act == "other" and isinstance(what, bytes):
                writer.append(detail, NO_STREAM, what, 0.5)
            elif act == "lose" and isinstance(what, int):
                writer.lose(what, "test")
                truth += b"\0" * what
            elif act == "restart":
                writer.close()
                if detail:
                    reader.close()
                if writer.offset == LogWriter(folder).offset:  # what could not be said yet is not known to the next
                    writer = LogWriter(folder, limit=kept * SMALL, segment=SMALL)
            elif isinstance(what, int):
                page = reader.read(cursor, what)
                assert len(page.data) <= what
                seen.update((chunk.offset, chunk.data) for chunk in page.chunks)
                lost += page.gaps
                cursor = page.next_cursor
        assert cursor == writer.offset == len(truth)
        parts = sorted([*((o, len(d)) for o, d in seen.items()), *((gap.offset, gap.lost) for gap in lost)])
        at = 0
        for offset, length in parts:
            assert offset == at
            at += length
        assert at == len(truth)
        assert all(truth[offset : offset + len(data)] == data for offset, data in seen.items())
        if kept == 1000:
            assert {gap.why for gap in lost} <= {"test"}
        reader.close()
        writer.close()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_truncation_of_any_segment_is_a_gap(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = LogWriter(folder, segment=SMALL)
        truth = bytes(n % 251 for n in range(5000))
        for begin in range(0, len(truth), 90):
            writer.append_output(truth[begin : begin + 90], STDOUT, 0)
        writer.close()
        for segment in segments(folder)[:-1]:
            path = Path(folder, segment.name)
            os.truncate(path, data.draw(st.integers(0, path.stat().st_size)))
        with LogReader(folder) as reader:
            page = reader.read(0, 1 << 20)
        assert page.next_cursor == len(truth)
        assert sum(gap.lost for gap in page.gaps) + len(page.data) == len(truth)
        assert all(truth[c.offset : c.offset + len(c.data)] == c.data for c in page.chunks)
