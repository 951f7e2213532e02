"""Screens rebuilt from a log, and written out again so that another terminal shows the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lamplighter.holder.log import LogWriter
from lamplighter.holder.segments import NO_STREAM, RESIZE, SIZE, STDERR, STDOUT, segments
from lamplighter.replay import keyframes
from lamplighter.replay.emulator import Emulator
from lamplighter.replay.redraw import written
from lamplighter.replay.screen import Screen

ROWS, COLS = 8, 24
# An example here is expensive: ./test tries a few, the same each time, and each seed of make test-deep tries more.
EXAMPLES = settings(max_examples=40 if settings().derandomize else 150)
MODES = (1, 5, 6, 7, 9, 12, 25, 66, 69, 1000, 1002, 1003, 1004, 1006, 2004, 2027)

SHELL = b"$ ls\r\n\x1b[01;34msrc\x1b[0m  README.md\r\n$ "
# What vim, less and htop send, from their terminfo entries and a look at what they print.
VIM = (
    b"\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[1;8r\x1b[?12h\x1b[?12l\x1b[22;2t"
    b'\x1b[22;1t\x1b[27m\x1b[23m\x1b[29m\x1b[m\x1b[H\x1b[2J\x1b[?25l\x1b[8;1H"a.py" 2L, 20B'
    b"\x1b[1;1H\x1b[38;5;130mimport\x1b[m os\r\n"
    b"\x1b[1m\x1b[34m~                       "
    b"\x1b[3;1H~                       \x1b[m\x1b[7;1H\x1b[7ma.py    1,1     All\x1b[m"
    b"\x1b[1;1H\x1b[?25h\x1b[5 q\x1b]2;a.py - VIM\x07"
)
VIM_END = b"\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[>4;m\x1b[2 q\x1b[23;2t\x1b[?1049l\x1b[23;0;0t\x1b[?25h"
LESS = b"\x1b[?1049h\x1b[22;0;0t\x1b[?1h\x1b=\r" + b"".join(b"row %d\x1b[K\r\n" % n for n in range(7)) + b":\x1b[K"
HTOP = (
    b"\x1b[?1049h\x1b[22;0;0t\x1b[1;8r\x1b(B\x1b[m\x1b[4l\x1b[?7h\x1b[?1h\x1b=\x1b[?25l\x1b[39;49m\x1b[?1000h\x1b[?1002h"
    b"\x1b[?1006h\x1b[H\x1b[2J\x1b[2d  \x1b[36mCPU\x1b[39m\x1b(B\x1b[0;1m[\x1b(B\x1b[m\x1b[32m|||||"
    b"\x1b[30m\x1b[1m  12%\x1b(B\x1b[0;1m]"
    b"\x1b[4d\x1b(B\x1b[m\x1b[30m\x1b[42m  PID USER      CPU% \x1b[K"
    b"\x1b[5d\x1b[30m\x1b[46m    1 root       0.0 \x1b[K\x1b[39;49m\x1b(B\x1b[m"
)
BOX = b"\x1b(0lqqqk\x1b(B\r\n\x1b(0x\x1b(B in \x1b(0x\x1b(B\r\n\x1b(0mqqqj"
WIDE = "漢字|\U0001f469\u200d\U0001f469\u200d\U0001f467|e\u0301|\U0001f1e9\U0001f1ea|\u2764\ufe0f|".encode()
APART = b"\x1b[?2027l" + WIDE
# Claude Code fills the line of a prompt to its end, by its own widths, and then counts rows from there.
CLAUDE = "\x1b[H\r\x1b[1B❯ look 👍🏽 here {}\r\x1b[2B● see \x1b[7G👍🏽\x1b[10Ghere\r\x1b[2B❯ ".format(
    " " * (COLS - 15)
).encode()
LONG = b"".join(b"line %d is longer than the screen is wide\r\n" % n for n in range(20))
CAPTURES = {
    "shell": SHELL,
    "vim": SHELL + VIM,
    "after vim": SHELL + VIM + VIM_END + b"$ ",
    "less": LONG + LESS,
    "htop": SHELL + HTOP,
    "box": BOX,
    "wide": WIDE,
    "apart": APART,
    "both": WIDE + b"\r\n" + APART,
    "both, together again": APART + b"\r\n\x1b[?2027h" + WIDE,
    "a cluster behind one that goes on": "👍🏽👍🏽\x1b[H👨\u200d\x1b[2;1H🇩🇪\x1b[2H🇩\x1b[3;4H👍🏽\x1b[3;3H❤\u200d".encode(),
    "a cluster at the edge behind one that goes on": (
        "\x1b[1;21H👨\u200d\x1b[?2027l\x1b[1;23H👍\x1b[?2027h🏽".encode()
    ),
    "a cluster at the edge": "\x1b[1;23H👍🏽\x1b[3;24H👍🏽\x1b[5;24H🇩🇪".encode(),
    "claude": CLAUDE,
    "long": LONG,
    "wrap pending": b"\x1b[35m" + b"0123456789" * 2 + b"abcd",
    "wide at the edge": b"\x1b[1;24H" + "漢漢".encode() + b"\x1b[2;23H" + "字".encode(),
    "unfinished sequence": b"abc\x1b[1;3",
    "unfinished character": "ab漢".encode()[:-1],
    "unfinished title": b"abc\x1b]2;half a tit",
    "margins": b"\x1b[2;5r\x1b[?6h\x1b[2;3Hx\x1b7\x1b[Hy",
    "side margins": b"\x1b[?69h\x1b[3;9s\x1b[2;2Hqqqqqqqqqqqq",
    "saved": b"\x1b[3;4H\x1b[1;31m\x1b7\x1b[m\x1b[Hhome",
    "modes": b"\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?1h\x1b=\x1b[?25l\x1b[?7l\x1b[4h\x1b[?5h",
    "old alternate": SHELL + b"\x1b[?47hother\x1b[3;3H",
    "kitty keys": b"\x1b[>3u\x1b[?1049h\x1b[>1uabc",
    "colours": b"\x1b[38;2;1;2;3;48;5;200;4:3;58;5;9mx\x1b[m\x1b]4;1;#123456\x07\x1b]11;#010203\x07\x1b[44m\x1b[K",
    "tabs": b"\x1b[3g\x1b[5G\x1bH\r\tx",
    "gaps": b"\x1b[41mERR\x1b[0m\tmsg\r\n\x1b[4mu\x1b[m\x1b[6Gv\r\n\x1b[41m\x1b[3X\x1b[m\x1b[6Gz\r\n\x1b[7mr\x1b[m\x1b[9Gs",
    "filled beside clusters": "\x1b[44m\x1b[2K hi \u26a0\ufe0f\x1b[m\r\ne\u0301\x1b[41m\x1b[K".encode()
    + "\r\n\x1b[42m\x1b[K\x1b[m\x1b[5Ge\u0301".encode(),
    "filled": b"\x1b[44m\x1b[2J\x1b[3;5H\x1b[48;2;9;8;7m\x1b[K\x1b[m\x1b[4;1H\x1b[K\x1b[4;7H\x1b[41m\x1b[3X"
    b"\x1b[5;1Hx\x1b[46m\x1b[K",
}


def state(terminal: Emulator) -> dict[str, Any]:
    """All that must be the same in a terminal that was rebuilt."""
    first, twin = terminal.total - terminal.rows, terminal.clone()
    seen = range(first, terminal.total)
    return {
        "text": terminal.plain(first, terminal.total - 1),
        # A blank that was written and a cell never written look the same.
        "styles": [terminal.painted(row, 0, terminal.cols - 1).rstrip(b" ") for row in seen],
        "looks": [look(terminal, row) for row in seen],
        "cursor": (terminal.cursor, terminal.wrap_pending, twin.cursor_shape()),
        "pen": re.sub(rb"\x1b[()*+]B", b"", terminal.pen()),  # ASCII by name is ASCII
        "alternate": terminal.alternate,
        "modes": {
            n: terminal.mode(n) for n in (1, 5, 6, 7, 9, 12, 25, 66, 69, 1000, 1002, 1003, 1004, 1006, 2004, 2027)
        },
        "insert": terminal.mode(4, ansi=True),
        "margins": twin.margins(),
        "title": terminal.title,
        "keyboard": (terminal.keyboard, terminal.key_format()),
        "colours": terminal.colours(),
        "tabs": terminal.tab_stops(),
        "unfinished": terminal.unfinished(),
    }


def look(terminal: Emulator, row: int) -> list[tuple[Any, ...]]:
    """Each cell as it is seen: of a blank only what shows without a letter, however it came about."""
    seen: list[tuple[Any, ...]] = []
    for col, fill in enumerate(terminal.fills(row)):
        points, style = terminal.cell(row, col).codepoints, terminal._terminal.style(col, row, "screen")
        if points in ((), (32,)):
            style = {name: style[name] for name in ("inverse", "underline", "strikethrough", "overline", "bg")}
        if fill:
            palette, rgb = re.fullmatch(rb"\x1b\[48;(?:5;(\d+)|2;([\d;]+))m", fill).groups()  # pyright: ignore
            style["bg"] = ("palette", int(palette)) if palette else ("rgb", tuple(map(int, rgb.split(b";"))))
        seen.append(tuple(style.items()))
    return seen


def terminal_of(data: bytes, rows: int = ROWS, cols: int = COLS) -> Emulator:
    terminal = Emulator(rows, cols)
    terminal.feed(data)
    return terminal


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def log(folder: str) -> Callable[..., LogWriter]:
    """A log with the given output, in pieces of five bytes."""

    def write(*parts: bytes | tuple[int, int], segment: int = 1 << 20, limit: int = 8 << 20) -> LogWriter:
        writer = LogWriter(folder, limit, segment)
        for part in ((ROWS, COLS), *parts):
            if isinstance(part, tuple):
                writer.append(RESIZE, NO_STREAM, SIZE.pack(*part), 0)
            else:
                for begin in range(0, len(part), 5):
                    writer.append_output(part[begin : begin + 5], STDOUT, 0)
        return writer

    return write


def screen_of(folder: str, offset: int | None = None) -> Screen:
    screen = Screen(folder)
    screen.advance_to(offset)
    return screen


# How wide characters are

EMOJI = {
    "a skin": "👍🏽",
    "a flag": "🇩🇪",
    "a man at work": "👨‍💻",
    "a family": "👨‍👩‍👧‍👦",
    "a sign with a colour": "⚠️",
    "a key": "1️⃣",
    "a flag of a region": "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "a heart on fire": "❤️‍🔥",
    "a woman in a turban": "👳🏿‍♀️",
}


@pytest.mark.parametrize("name", EMOJI)
@pytest.mark.parametrize(
    "before", ["", "\x1bc", "\x1b[!p", "\x1b[?1049h"], ids=["new", "reset", "soft reset", "alternate"]
)
def test_an_emoji_has_two_columns_however_it_is_made(name: str, before: str) -> None:
    terminal = terminal_of((before + EMOJI[name]).encode())
    assert terminal.cursor == (0, 2)
    assert terminal.plain(0, 0) == [EMOJI[name]]
    assert terminal.ask(b"\x1b[?2027$p") == b"\x1b[?2027;1$y"


def test_a_program_may_have_the_code_points_apart() -> None:
    terminal = terminal_of(b"\x1b[?2027l" + "👨‍👩‍👧‍👦🇩🇪".encode())
    assert terminal.cursor == (0, 12)
    assert not terminal.clone().mode(2027)
    terminal.feed("\x1bc👨‍👩‍👧‍👦🇩🇪".encode())
    assert terminal.cursor == (0, 4)


people, skins = st.sampled_from("👦👧👨👩👴👵🧑👮👷🙋🤦"), st.sampled_from(["", *"🏻🏼🏽🏾🏿"])
persons = st.builds("{}{}".format, people, skins)
letters = st.sampled_from([chr(number) for number in range(0x1F1E6, 0x1F200)])
emoji = st.one_of(
    st.builds("{}{}".format, letters, letters),
    st.builds("{}\ufe0f\u20e3".format, st.sampled_from("0123456789#*")),
    st.builds("{}\ufe0f".format, st.sampled_from("☀☁☂☎☑☠☢☮☯♀♂♨⚒⚙⚠⚡✂✈✉✔✖❄❤➡⬆")),
    st.lists(persons, min_size=1, max_size=4).map("\u200d".join),
    st.builds("{}\u200d{}".format, persons, st.sampled_from(["💻", "🔬", "🚀", "⚕️", "✈️", "♀️", "🦰"])),
)


@given(st.lists(emoji, min_size=1, max_size=11))
def test_a_line_of_emoji_is_as_wide_as_its_program_counts(several: list[str]) -> None:
    """Apart from each other: two letters of a flag and two more are two flags, but a flag and one letter are not."""
    terminal = terminal_of(" ".join(several).encode(), cols=40)
    assert terminal.cursor == (0, 3 * len(several) - 1)
    assert terminal.plain(0, 0) == [" ".join(several)]


def test_what_claude_draws_by_its_own_widths_stands_where_it_put_it() -> None:
    terminal = terminal_of(CLAUDE)
    assert terminal.plain(0, 6) == ["", "❯ look 👍🏽 here", "", "● see 👍🏽 here", "", "❯", ""]
    assert terminal.cursor == (5, 2)


# Written as before clusters were on by themselves: nothing said, or on and off around each.
OF_BEFORE = "❯ look \x1b[8G👍🏽\r\nflag 🇩🇪"


@pytest.mark.parametrize(
    "content",
    [OF_BEFORE, OF_BEFORE.replace("👍🏽", "\x1b[?2027h👍🏽\x1b[?2027l") + "\x1b[?2027h"],
    ids=["nothing said", "said"],
)
def test_a_keyframe_of_before_is_read_and_what_follows_is_as_wide_as_it_should(
    folder: str, log: Callable[..., LogWriter], content: str
) -> None:
    writer = log(b"x" * 10)
    keyframes.write(folder, keyframes.Keyframe(10, ROWS, COLS, content.encode()))
    writer.append_output("\r\n👨‍👩‍👧‍👦".encode(), STDOUT, 0)
    screen = screen_of(folder)
    assert screen.text() == ["❯ look 👍🏽", "flag 🇩🇪", "👨‍👩‍👧‍👦"]
    assert (screen.cursor, screen.mode(2027)) == ((2, 2), True)


# What is seen


def test_a_screen_as_text(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"hello  \r\n\r\n" + WIDE + b"\x1b[7;3Hlow\x1b]2;name\x07")
    screen = screen_of(folder)
    assert screen.text() == ["hello", "", WIDE.decode(), "", "", "", "  low"]
    assert (screen.cursor, screen.size, screen.title) == ((6, 5), (ROWS, COLS), "name")
    assert screen.exact


def test_the_alternate_screen_and_what_is_behind_it(folder: str, log: Callable[..., LogWriter]) -> None:
    writer = log(SHELL + VIM)
    screen = screen_of(folder)
    assert screen.alternate
    assert screen.text()[0] == "import os"
    assert screen.text()[6:] == ["a.py    1,1     All", '"a.py" 2L, 20B']
    assert screen.title == "a.py - VIM"
    assert screen.mode(2004)
    writer.append_output(VIM_END, STDOUT, 0)
    screen.advance_to()
    assert not screen.alternate
    assert screen.text() == ["$ ls", "src  README.md", "$"]
    assert screen.cursor == (2, 2)


def test_lines_that_scrolled_away(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"".join(b"row %d\r\n" % n for n in range(50)))
    screen = screen_of(folder)
    assert screen.text() == [f"row {n}" for n in range(43, 50)]
    assert screen.text(3) == ["row 47", "row 48", "row 49"]
    assert screen.text(20) == [f"row {n}" for n in range(30, 50)]
    assert screen.text(500) == [f"row {n}" for n in range(50)]


def test_sizes_change_where_they_changed(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"0123456789", (ROWS, 5), b"abc", (4, 30), b"\x1b[4;30Hx")
    assert screen_of(folder, 10).text() == ["01234", "56789"]  # a resize at the offset belongs to it
    assert screen_of(folder, 9).text() == ["012345678"]
    assert screen_of(folder).size == (4, 30)
    assert screen_of(folder).text()[3] == " " * 29 + "x"


def test_a_size_nobody_has_is_bounded(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"x", (0, 0), (65535, 65535))
    assert screen_of(folder).size == (2000, 2000)


def test_output_of_pipes_needs_no_returns(folder: str) -> None:
    writer = LogWriter(folder)
    writer.append_output(b"one\ntwo\n", STDOUT, 0)
    writer.append_output(b"error\n", STDERR, 0)
    assert screen_of(folder).text() == ["one", "two", "error"]
    keyframes.write(folder, screen_of(folder).keyframe())
    writer.append_output(b"more\nlines", STDOUT, 0)
    assert screen_of(folder).text() == ["one", "two", "error", "more", "lines"]


def test_back_and_forth(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"abcdefgh")
    screen = Screen(folder)
    assert [screen.advance_to(offset) for offset in (3, 3, 7, 2, None)] == [3, 3, 7, 2, 8]
    assert screen.text() == ["abcdefgh"]
    screen.advance_to(4)
    assert screen.text() == ["abcd"]


def test_queries_are_answered(folder: str, log: Callable[..., LogWriter]) -> None:
    writer = log(b"ab\x1b[6n\x1b[c")
    screen = screen_of(folder)
    said = screen.replies()
    assert said.startswith(b"\x1b[1;3R\x1b[?")
    assert screen.replies() == b""
    writer.append_output(b"\x1b[5n", STDOUT, 0)
    screen.advance_to()
    assert screen.replies() == b"\x1b[0n"


def test_an_empty_log_is_an_empty_screen(folder: str) -> None:
    screen = screen_of(folder)
    assert (screen.text(), screen.cursor, screen.size, screen.offset) == ([], (0, 0), (24, 80), 0)
    assert Screen(folder).text() == []
    with Screen(folder) as closed:
        closed.advance_to()


# What is lost


def test_a_lost_beginning_is_not_exact(folder: str, log: Callable[..., LogWriter]) -> None:
    writer = log(b"x" * 5000 + b"\x1b[2J\x1b[Hseen", segment=1024, limit=4096)
    screen = screen_of(folder)
    assert not screen.exact
    assert screen.text() == ["seen"]
    assert screen.size == (ROWS, COLS)
    assert screen.offset == writer.offset


def test_a_keyframe_helps_while_the_log_goes_on_from_it(folder: str, log: Callable[..., LogWriter]) -> None:
    log(b"\x1b[31mtop of it\r\n").close()
    second = LogWriter(folder)
    keyframes.write(folder, screen_of(folder).keyframe())
    second.append_output(b"rest", STDOUT, 0)
    os.unlink(Path(folder, segments(folder)[0].name))
    assert (screen_of(folder).exact, screen_of(folder).text()) == (True, ["top of it", "rest"])
    third = LogWriter(folder)
    third.append_output(b"!", STDOUT, 0)
    os.unlink(Path(folder, segments(folder)[0].name))
    assert (screen_of(folder).exact, screen_of(folder).text()) == (False, ["!"])


def test_a_screen_left_behind_by_rotation_goes_on_from_a_keyframe(folder: str, log: Callable[..., LogWriter]) -> None:
    writer = log(b"top\r\n", segment=1024, limit=8192)
    behind, following = screen_of(folder), screen_of(folder)
    for _ in range(400):
        if writer.append_output(b"\x1b[?25l\x1b[?25h" * 10, STDOUT, 0):
            following.advance_to()
            keyframes.write(folder, following.keyframe())
    assert segments(folder)[0].start > 0
    behind.advance_to()
    assert (behind.exact, behind.text(), behind.offset) == (True, ["top"], writer.offset)
    assert screen_of(folder).text() == ["top"]


def test_a_gap_ends_the_sequence_it_cut(folder: str, log: Callable[..., LogWriter]) -> None:
    writer = log(b"ab\x1b]2;tit")
    writer.lose(10, "disk full")
    writer.append_output(b"cd", STDOUT, 0)
    screen = screen_of(folder)
    assert screen.text() == ["abcd"]
    assert not screen.exact
    assert not screen.keyframe().exact


# Written out again


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("history", [0, 100])
def test_written_out_it_is_the_same(name: str, history: int) -> None:
    terminal = terminal_of(CAPTURES[name])
    before = state(terminal)
    data = written(terminal, history)
    assert state(terminal) == before
    assert state(terminal_of(data)) == before


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize(
    "after",
    [b"\x1b[?1049l", b"\x1b[?47l", b"\x1b8X", b"more text", b"\r\n" * 9, b"\xa2m", b"le\x07", b"\x1b[<u\x1b[?1049l"],
)
def test_written_out_it_goes_on_the_same(name: str, after: bytes) -> None:
    terminal = terminal_of(CAPTURES[name])
    again = terminal_of(written(terminal, 100))
    terminal.feed(after)
    again.feed(after)
    assert state(again) == state(terminal)


def test_links_are_the_one_thing_not_written() -> None:
    data = b"\x1b]8;;http://example.org\x07link\x1b]8;;\x07"
    assert b"example.org" not in written(terminal_of(data))
    assert written(terminal_of(data)).startswith(b"link")


def test_only_what_differs_is_written() -> None:
    assert len(written(terminal_of(b"hello"))) < 40


numbers = st.integers(1, 10)
texts = st.text(st.sampled_from("abc xyzÄ漢字é█"), min_size=1, max_size=30)
pieces = st.one_of(
    texts,
    st.sampled_from(
        ["\r\n", "\r", "\n", "\b", "\t", "\x1b7", "\x1b8", "\x1bM", "\x1b[2J", "\x1b[K", "\x1b[1K", "\x1b[J"]
    ),
    st.sampled_from(["\x1b[m", "\x1b[1m", "\x1b[7m", "\x1b[31m", "\x1b[48;5;20m", "\x1b[38;2;9;8;7m", "\x1b[4:3m"]),
    st.sampled_from(["\x1b[?1049h", "\x1b[?1049l", "\x1b[J", "\x1b[?25l", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?1h"]),
    st.sampled_from(
        ["\x1b[?2004h", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[?25h", "\x1b=", "\x1b>", "\x1b[?1004h"]
    ),
    st.sampled_from(["\x1b]2;title\x07", "\x1b[3 q", "\x1b(0lqk\x1b(B", "\x1b[", "\x1b]2;", "\x1b[>1u", "\x1b[<u"]),
    st.builds("\x1b[{};{}H".format, numbers, numbers),
    st.builds("\x1b[{};{}r".format, st.integers(1, 4), st.integers(5, 8)),
    st.builds("\x1b[{}{}".format, numbers, st.sampled_from("ABCDGLMPSTX@d")),
)
# A row with one of these begins a line of its own where it is written out, and reflows as one.
clusters = st.sampled_from(["👍🏽", "🇩🇪", "👨‍💻", "⚠️", "e\u0301", "\x1b[?2027l", "\x1b[?2027h"])


def sessions_of(some: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """A sequence cut short by letters that are not ASCII is read as other control characters, which protect cells: nobody does
    that."""
    joined = st.lists(some, max_size=40).map("".join).map(str.encode)
    return joined.filter(lambda data: not re.search(rb"\x1b\[[^\0-\x7f]", data))


sessions, with_clusters = sessions_of(pieces), sessions_of(st.one_of(pieces, clusters))


@EXAMPLES
@given(with_clusters)
@example(b"\x1b[?1049h\x1b[?1049l")
@example(b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n\x1b[2J\x1b[H\x1b[41m" + b"x" * 30 + b"\x1b[m")
def test_anything_written_out_is_the_same(data: bytes) -> None:
    terminal = terminal_of(data)
    for history in (0, 20):
        assert state(terminal_of(written(terminal, history))) == state(terminal)


@EXAMPLES
@given(with_clusters, with_clusters, st.integers(0, 3))
@example("aaaaaaaaaaaa字aaa字aa字字\r\x1b[Ka".encode(), b"", 0)
@example("aa👍🏽\x1b[1;5r👨\u200d💻".encode(), b"", 1)
def test_a_keyframe_and_the_rest_are_as_from_the_start(before: bytes, after: bytes, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = LogWriter(folder)
        writer.append(RESIZE, NO_STREAM, SIZE.pack(ROWS, COLS), 0)
        whole = before + after
        assume(not re.search(rb"\x1b\[[^\0-\x7f]", whole))
        for begin in range(0, len(whole), 7):
            writer.append_output(whole[begin : begin + 7], STDOUT, 0)
        with Screen(folder) as screen:
            screen.advance_to(max(0, len(before) - cut))  # also in the middle of a sequence or a character
            keyframes.write(folder, screen.keyframe())
        with Screen(folder) as rebuilt:
            assert rebuilt.advance_to() == len(whole)
            expected = terminal_of(whole)
            first = expected.total - ROWS
            text = expected.plain(first, expected.total - 1)
            assert rebuilt.text() == text[: len(text) - next((i for i, t in enumerate(reversed(text)) if t), len(text))]
            assert (rebuilt.cursor, rebuilt.alternate) == (expected.cursor, expected.alternate)
            assert [rebuilt.mode(n) for n in (1, 25, 2004, 1002)] == [expected.mode(n) for n in (1, 25, 2004, 1002)]
        writer.close()


def ends_in_blanks(terminal: Emulator, row: int) -> bool:
    """A row that goes on in the next, of which nothing is left there: written out again, the line ends before."""
    return terminal.flags(row)[0] and not terminal.cell(row + 1, 0).codepoints


@EXAMPLES
@given(sessions, st.integers(3, 12), st.integers(10, 40), sessions)
@example(LONG, 8, 40, b"")
@example(LONG, 5, 10, b"")
@example(b"a\x1b[48;5;20m\x1b[2J", 3, 10, b"")
@example(b"a\x1b[48;5;20m\x1bM", 3, 10, b"")
def test_what_was_written_out_reflows_the_same(before: bytes, rows: int, cols: int, after: bytes) -> None:
    terminal = terminal_of(before)
    assume(not any(ends_in_blanks(terminal, row) for row in range(terminal.total - 1)))
    again = terminal_of(written(terminal, 500))
    for each in (terminal, again):
        each.resize(rows, cols)
        each.feed(after)
    first, last = again.total - rows, again.total - 1
    assert again.plain(first, last) == terminal.plain(terminal.total - rows, terminal.total - 1)
    assert again.cursor == terminal.cursor


def test_the_terminal_library_is_imported_when_it_is_needed() -> None:
    code = "import sys, lamplighter.replay.screen, lamplighter.replay.cast; assert 'pyghostty' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
