"""The mark behind the last output of a pane: written whatever state the terminal is in, and taken out wherever it is cut."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from lamplighter.holder.pane import EndMark
from tests.support.processes import wait_until


def passed(pieces: list[bytes], *, ended: bool = False) -> tuple[bytes, EndMark]:
    """What comes through of these reads; and the mark."""
    mark = EndMark("abc")
    last = len(pieces) - 1
    taken = [mark.take_out([piece], ended=ended and number == last) for number, piece in enumerate(pieces)]
    return b"".join(b"".join(chunks) for chunks in taken), mark


def test_the_mark_is_taken_out_wherever_it_is_cut() -> None:
    text = b"one\x1b[0m" + EndMark("abc").mark + b"two"
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            cuts = [0, first, second, len(text)]
            found, mark = passed([text[before:after] for before, after in pairwise(cuts)])
            assert found == b"one\x1b[0mtwo"
            assert mark.over


def test_what_only_looks_like_the_mark_comes_with_what_follows() -> None:
    text = b"one" + EndMark("abc").mark[:-1] + b"x"
    found, mark = passed([bytes([byte]) for byte in text])
    assert found == text
    assert not mark.over


@pytest.mark.parametrize("size", [1, 5, 12])
def test_nothing_is_kept_of_output_that_ends(size: int) -> None:
    text = b"one" + EndMark("abc").mark[:size]
    assert passed([text])[0] == b"one"
    found, mark = passed([text], ended=True)
    assert found == text
    assert mark.over


def test_no_setting_of_a_terminal_changes_the_mark() -> None:
    mark = EndMark("3f9a-b").mark.decode("ascii")
    assert mark == mark.upper()
    assert not set("\n\r\t") & set(mark)


def test_the_mark_is_written_where_the_output_was_stopped() -> None:
    """With Ctrl-S, and nobody is there any more who could press Ctrl-Q."""
    master, slave = os.openpty()
    os.set_blocking(slave, False)
    try:
        os.write(slave, b"last words")
        os.write(master, b"\x13")
        assert wait_until(lambda: is_stopped(slave))
        mark = EndMark("abc")
        assert not mark.write(slave)
        assert mark.write(slave)
        expected = b"last words" + mark.mark
        found = b""
        while len(found) < len(expected):
            found += os.read(master, 4096).replace(TRY, b"")
        assert found == expected
    finally:
        os.close(master)
        os.close(slave)


TRY = b"\0"


def is_stopped(slave: int) -> bool:
    try:
        os.write(slave, TRY)
    except BlockingIOError:
        return True
    return False
