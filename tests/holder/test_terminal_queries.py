"""What a program asks its terminal is found however it is cut, and hidden without moving anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.holder.terminal_queries import TerminalQueries

ASKED = [
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[?996n",
    b"\x1b[c",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[=c",
    b"\x1b[>0q",
    b"\x1b[?u",
    b"\x1b[?2026$p",
    b"\x1b[4$p",
    b"\x1b[14t",
    b"\x1b[18t",
    b"\x1bZ",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]4;1;?\x07",
    b"\x1b]52;c;?\x07",
    b"\x1bP$qm\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
]
TOLD = [
    b"plain",
    b"\x1b[2J\x1b[H",
    b"\x1b[?25h",
    b"\x1b[>1u",
    b"\x1b[>4;1m",
    b"\x1b[!p",
    b"\x1b[8;5;5t",
    b"\x1b[22t",
    b"\x1b]0;what?\x07",
    b"\x1b]2;a;?\x07",
    b"\x1b]8;;https://example.com/?\x07",
    b"\x1b]52;c;aGk=\x07",
    b"\x1b_Ga=T,f=24;AAAA\x1b\\",
    "漢字 😀".encode(),
]


def passed_on(*parts: bytes) -> tuple[bytes, int]:
    """All that the others are sent, each part where the last ended; and in how many of them a question was completed."""
    questions, offset, sent, asked = TerminalQueries(), 0, b"", 0
    for part in parts:
        begin, hidden = questions.take(offset, part)
        assert begin == len(sent)
        offset, sent, asked = offset + len(part), sent + hidden, asked + questions.asked
    return sent, asked


@pytest.mark.parametrize("question", ASKED)
def test_a_question_is_hidden_however_it_is_cut(question: bytes) -> None:
    hidden = b"a" + b"\0" * len(question) + b"b"
    for cut in range(len(question) + 2):
        text = b"a" + question + b"b"
        assert passed_on(text[:cut], text[cut:]) == (hidden, 1), cut
    assert passed_on(b"a", *(bytes([byte]) for byte in question), b"b") == (hidden, 1)


@pytest.mark.parametrize("text", TOLD)
def test_what_is_no_question_stays_as_it_is(text: bytes) -> None:
    for cut in range(len(text) + 1):
        assert passed_on(text[:cut], text[cut:], b"b") == (text + b"b", 0), cut


@given(
    st.lists(st.sampled_from([*ASKED, *TOLD, b"\x1b", b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_G", b"\n"]), max_size=12),
    st.data(),
)
def test_where_it_is_cut_changes_nothing(pieces: list[bytes], data: st.DataObject) -> None:
    text, last = b"".join(pieces), b"\x1b\\."  # after which nothing is unfinished
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parts = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole, _ = passed_on(text + last)
    cut, _ = passed_on(*parts, last)
    assert cut == whole
    assert len(whole) == len(text + last)


def test_a_long_sequence_is_not_kept_for_ever() -> None:
    sent, _ = passed_on(b"\x1b]0;" + b"x" * 100_000)
    assert len(sent) == 100_004
