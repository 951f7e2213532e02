"""The page's terminal counts columns as the daemon's does, so that a line breaks in both at the same character."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from lamplighter.frontends.web.broadcast import _AFRESH  # pyright: ignore[reportPrivateUsage]
from lamplighter.replay.emulator import Emulator
from lamplighter.replay.redraw import written
from scripts import widths
from tests.support.browser import Visit, Visits, at_session
from tests.support.engine import Engine

pytestmark = pytest.mark.browser
Visiting = Callable[..., Visit]

ROWS, COLS = 4, 24
CORPUS = {
    "a family": "👨‍👩‍👧",
    "a family of four": "👨‍👩‍👧‍👦x",
    "a couple with skins": "👩🏽‍❤️‍💋‍👨🏿",
    "a flag": "🇩🇪",
    "flags": "🇩🇪🇫🇷",
    "a flag and a half": "🇩🇪🇫",
    "a flag of a region": "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "a skin": "👍🏽",
    "a skin on a narrow sign": "✌🏽",
    "a skin alone": "a🏽",
    "two skins": "👍🏽🏽",
    "a key": "1️⃣#️⃣",
    "a sign with a colour": "⚠️x",
    "a sign without": "⌚︎x",
    "a sign with and without": "☀️︎x",
    "no sign for a colour": "a️😀︎",
    "a heart on fire": "❤️‍🔥",
    "marks": "e\u0301o\u0308\u0323n\u0303",
    "a mark alone": "\u0301a",
    "marks after a wide one": "漢\u0301字",
    "Chinese": "漢字カナ한국어",
    "syllables of jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "jamo alone": "\u1161\u11ab\u1100\u1100",
    "a conjunct": "क्षत्रिय",
    "a conjunct with a joiner": "क्\u200dष",
    "Tamil": "நி கௌ ஸ்ரீ",
    "Thai": "กำ ที่",
    "Arabic": "\u0600\u0661 ک\u0651",
    "a joiner alone": "\u200d",
    "a joiner between letters": "a\u200db",
    "a joiner after an emoji": "👍\u200dx",
    "joiners": "👍\u200d\u200d👍",
    "no width": "a\u200b\u2060b\u00ad",
    "Latin": "naïve © ® ½",
    "long dashes": "⸻﷽x",
}
TERMINAL = """async () => {
    const root = document.querySelector("link[rel=modulepreload]").href.replace(/js\\/.*/, "");
    const { makeScreen } = await import(`${root}js/views/session/screen.js`);
    const place = document.body.appendChild(document.createElement("div"));
    window.screenOfTest = await makeScreen(place, { scrollback: 0 });
}"""
DRAW = """async (cases) => {
    const screen = window.screenOfTest, { terminal } = screen;
    const drawn = [];
    for (const { rows, cols, chunks } of cases) {
        screen.reset();
        await screen.resize(rows, cols);
        for (const chunk of chunks) await screen.write(Uint8Array.from(atob(chunk), (letter) => letter.charCodeAt(0)));
        const { active } = terminal.buffer;
        const cells = Array.from({ length: rows }, (_, row) =>
            Array.from({ length: cols }, (_, col) => active.getLine(row).getCell(col))
                .map((cell) => [cell.getChars(), cell.getWidth()]));
        drawn.push({ cells, cursor: [active.cursorY, active.cursorX] });
    }
    return drawn;
}"""
WIDTHS = """() => {
    const width = (code) => window.screenOfTest.terminal._core.unicodeService.wcwidth(code);
    return Array.from({ length: 0x110000 }, (_, code) => width(code)).join("");
}"""
ANSWERS = """async (chunk) => {
    const { terminal, write } = window.screenOfTest;
    const said = [];
    terminal.options.disableStdin = false;
    const listening = terminal.onData((data) => said.push(data));
    await write(chunk);
    listening.dispose();
    terminal.options.disableStdin = true;
    return said;
}"""


class Case(NamedTuple):
    chunks: tuple[bytes, ...]
    rows: int = ROWS
    cols: int = COLS


@pytest.fixture(scope="module")
def terminal(house: Engine, chromium: object) -> Iterator[Page]:
    """A screen of the page, on a page that shows something else."""
    visits = Visits(chromium)  # pyright: ignore[reportArgumentType]
    page = visits.log_in(house).page
    page.evaluate(TERMINAL)
    yield page
    visits.close()


def differences(page: Page, cases: list[Case]) -> list[str]:
    given = [
        {"rows": case.rows, "cols": case.cols, "chunks": [base64.b64encode(chunk).decode() for chunk in case.chunks]}
        for case in cases
    ]
    found: list[str] = []
    for case, drawn in zip(cases, page.evaluate(DRAW, given), strict=True):
        cells = [[(text, width) for text, width in row] for row in drawn["cells"]]
        ours = (cells, tuple(drawn["cursor"]))
        theirs = of_the_server(case)
        if ours != theirs:
            chunks = [ascii(chunk.decode(errors="replace")) for chunk in case.chunks]
            found.append(f"{chunks} on {case.cols}: {said(ours)} is not {said(theirs)}")
    return found


Drawn = tuple[list[list[tuple[str, int]]], tuple[int, int]]


def of_the_server(case: Case) -> Drawn:
    emulator = Emulator(case.rows, case.cols, 0)
    for chunk in case.chunks:
        emulator.feed(chunk)
    (row, col), pending = emulator.cursor, emulator.wrap_pending
    seen = range(emulator.total - case.rows, emulator.total)
    cells = [[_cell(emulator, each, at) for at in range(case.cols)] for each in seen]
    return cells, (row, col + pending)


def _cell(emulator: Emulator, row: int, col: int) -> tuple[str, int]:
    points, wide = emulator.cell(row, col)
    return "".join(map(chr, points)), (1, 2, 0, 1)[wide]


def said(drawn: Drawn) -> str:
    return f"{[[ascii(text) + '·' * (width - 1) for text, width in row if text] for row in drawn[0]]} at {drawn[1]}"


def utf8(text: str) -> tuple[bytes, ...]:
    return (text.encode(),)


def test_the_corpus_stands_in_the_same_columns(terminal: Page) -> None:
    assert differences(terminal, [Case(utf8(text + end)) for text in CORPUS.values() for end in ("", "|")]) == []


def test_what_comes_in_two_parts_does(terminal: Page) -> None:
    """However it was cut, within a character too."""
    texts = [text.encode() for text in CORPUS.values()]
    cut = [Case((data[:at], data[at:] + b"|")) for data in texts for at in range(1, len(data))]
    assert differences(terminal, cut) == []


def test_what_has_sequences_in_it_does(terminal: Page) -> None:
    """xterm.js forgets with each sequence what it printed; the daemon's terminal looks at the cell."""
    styles = ("\x1b[1m", "\x1b[38;5;1m", "\x1b]2;title\x07")
    assert (
        differences(terminal, [Case(utf8(style.join(text) + "|")) for text in CORPUS.values() for style in styles])
        == []
    )


def test_lines_break_at_the_same_character(terminal: Page) -> None:
    texts = [before + text + after for text in CORPUS.values() for before in ("", "a", "漢") for after in ("", "|")]
    assert differences(terminal, [Case(utf8(text), 6, cols) for text in texts for cols in (2, 3, 4, 5)]) == []
    full = [Case(utf8(text * 12)) for text in CORPUS.values()]
    assert differences(terminal, full) == []


def test_a_program_may_have_the_code_points_apart(terminal: Page) -> None:
    changes = ("\x1b[?2027l{}|", "\x1b[?2027l{0}\x1b[?2027h{0}|", "\x1b[?2027l\x1bc{}|", "\x1b[?25;2027l\x1b[!p{}|")
    assert (
        differences(terminal, [Case(utf8(change.format(text))) for text in CORPUS.values() for change in changes]) == []
    )


def test_a_screen_that_is_written_again_is_the_same(terminal: Page) -> None:
    """With what begins a screen after a gap: what the page missed may have switched it."""
    cases: list[Case] = []
    for text in CORPUS.values():
        for before in ("", "\x1b[?2027l"):
            emulator = Emulator(ROWS, COLS, 0)
            emulator.feed((before + text + " " + text).encode())
            cases += [Case((begin + written(emulator), text.encode())) for begin in (b"", b"\x1b[?2027l" + _AFRESH)]
    assert differences(terminal, cases) == []


def test_each_code_point_alone_is_as_wide(terminal: Page) -> None:
    counted = terminal.evaluate(WIDTHS)
    emulator = Emulator(2, 4)
    printed = [*range(0x20, 0x7F), *range(0xA0, 0xD800), *range(0xE000, 0x110000)]
    assert [hex(code) for code in printed if int(counted[code]) != emulator.width(code)] == []


def members() -> list[str]:
    """A few code points of each kind, for texts that nobody has thought of."""
    kinds: dict[str, list[int]] = {}
    at = 0
    for name, many in widths.runs(widths.PLACE.read_text()):
        kinds.setdefault(name, []).extend({at, at + many // 2, at + many - 1})
        at += many
    chosen = random.Random(1)
    found = [chr(chosen.choice(codes)) for codes in kinds.values() for _ in range(4)]
    return [letter for letter in found if letter.isprintable() or ord(letter) > 0xA0]


@pytest.mark.parametrize("seed", [1, pytest.param(None, marks=pytest.mark.deep)])
def test_texts_that_nobody_has_thought_of(terminal: Page, seed: int | None) -> None:
    chosen, letters = random.Random(seed), members()
    joining = [*letters, *"\u200d\u200d\ufe0f\u0301👩❤क\u094d🇩🏽" * 4]
    texts = ["".join(chosen.choices(joining, k=chosen.randint(2, 7))) for _ in range(3000)]
    cases = [Case(utf8(text), ROWS, chosen.choice((5, 20))) for text in texts]
    assert differences(terminal, cases) == []


@pytest.mark.deep
def test_the_table_is_the_daemons_terminals() -> None:
    assert widths.PLACE.read_text() == widths.table()


def test_who_asks_is_told_that_they_are_together(terminal: Page) -> None:
    asked = [terminal.evaluate(ANSWERS, f"{before}\x1b[?2027$p") for before in ("\x1bc", "\x1b[?2027l", "\x1b[?2027h")]
    assert asked == [["\x1b[?2027;1$y"], ["\x1b[?2027;2$y"], ["\x1b[?2027;1$y"]]


LONG = "👨‍👩‍👧🇩🇪👍🏽1️⃣" * 11 + "|"


@pytest.mark.parametrize("ended", [False, True], ids=["live", "recorded"])
def test_a_session_and_its_recording_break_where_the_daemon_does(house: Engine, page_of: Visiting, ended: bool) -> None:
    """Eight columns each, eleven times on eighty."""
    printing = f"printf %s '{LONG}'" + ("" if ended else "; exec sleep 1000")
    session = house.start("sh", "-c", printing, rows=10, cols=80)["id"]
    until = "ended" if ended else "text=|"
    house.call("wait_session", session=session, until=until, timeout="120s")
    page = at_session(page_of(house), session)
    page.locator(f'.screen[data-phase="{"recorded" if ended else "live"}"]').wait_for()
    rows = page.locator(".terminal .sr [role=listitem]")
    expect(rows.nth(0)).to_have_text("👨‍👩‍👧🇩🇪👍🏽1️⃣" * 10)
    expect(rows.nth(1)).to_have_text("👨‍👩‍👧🇩🇪👍🏽1️⃣|")
    if not ended:
        screen = house.call("read_output", session=session, mode="screen")["text"].split("\n")
        assert screen[:2] == ["👨‍👩‍👧🇩🇪👍🏽1️⃣" * 10, "👨‍👩‍👧🇩🇪👍🏽1️⃣|"]
