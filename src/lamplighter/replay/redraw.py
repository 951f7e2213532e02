"""Writes a terminal out again: bytes that make any terminal of the same size, after a reset, show the same.

Knows the order in which content, margins, cursor, pen and modes have to be set so that none spoils another.
Knows nothing of logs. Content is written while every mode is at its default; the modes come last.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.replay.emulator import CLUSTERS, Emulator

# Left out on purpose: 3 (clears the screen), 1048 (moves the saved cursor), 2026 (would hold a real terminal's picture
# back), and 6, 47, 69, 1047, 1049, which have their own place in the order.
_MODES = (1, 4, 5, 7, 8, 9, 12, 25, 40, 45, 66, 67, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1035, 1036,
          1039, 1045, 2004, CLUSTERS, 2031, 2033, 2048, 5522)  # fmt: skip
_ANSI_MODES = (2, 4, 12, 20)
_SCREENS = (1049, 1047, 47)
# Style, link and protection as they are after a reset; and the character sets, for when they were touched at all.
_NO_PEN = b'\x1b[m\x1b]8;;\x1b\\\x1b[0"q'
_NO_SETS = b"\x1b(B\x1b)B\x1b*B\x1b+B\x0f"
_SETS = re.compile(rb"\x1b[()*+no|}~NO]|[\x0e\x0f]")
_COMBINING = 0x300
"""Below it, no character is joined with another one."""
_CLUSTERS_ON, _CLUSTERS_OFF = b"\x1b[?%dh" % CLUSTERS, b"\x1b[?%dl" % CLUSTERS


class _Usual(NamedTuple):
    """What a terminal is like after a reset, so that only what differs is written."""

    modes: dict[int, bool]
    ansi: dict[int, bool]
    shape: bytes
    pen: bytes


@functools.cache
def _usual() -> _Usual:
    fresh = Emulator(2, 2, 0)
    modes = {number: fresh.mode(number) for number in _MODES}
    ansi = {number: fresh.mode(number, ansi=True) for number in _ANSI_MODES}
    return _Usual(modes, ansi, fresh.cursor_shape(), fresh.pen())


def written(terminal: Emulator, history: int = 0) -> bytes:
    """The bytes for `terminal`, with at most `history` rows that have scrolled away before what is seen."""
    twin = terminal.clone()
    out = [*_names(terminal), _tab_stops(terminal)]
    if terminal.alternate:
        out += _behind(terminal, history)
        history = 0
    out += [_content(terminal, history), _NO_PEN]
    out += _margins(twin)
    out += _saved(terminal.clone(), twin)
    out += _cursor(terminal, twin)
    # What was printed while clusters were off must not be joined now; and where they are on by themselves differs.
    clusters = any(not part.isascii() for part in out)
    out = [_CLUSTERS_OFF if clusters else b"", *out, *_modes(terminal, clusters=clusters)]
    shape = twin.cursor_shape()
    if shape != _usual().shape:
        out.append(b"\x1b[%s q" % shape)
    if terminal.keyboard:
        out.append(b"\x1b[>%du" % terminal.keyboard)
    out += [terminal.key_format(), terminal.unfinished()]
    return b"".join(out)


def _names(terminal: Emulator) -> list[bytes]:
    out: list[bytes] = []
    for number, text in ((2, terminal.title), (7, terminal.folder)):
        if text:
            out.append(b"\x1b]%d;%s\x1b\\" % (number, "".join(c for c in text if c.isprintable()).encode()))
    for name, (red, green, blue) in terminal.colours():
        out.append(f"\x1b]{name};rgb:{red:02x}/{green:02x}/{blue:02x}\x1b\\".encode())
    return out


def _behind(terminal: Emulator, history: int) -> list[bytes]:
    """The primary screen behind the alternate one, left as the program left it, and the way over to the alternate."""
    primary = terminal.clone()
    primary.feed(b"\x1b[?47l")
    out = [_content(primary, history), _NO_PEN]
    if primary.keyboard:
        out.append(b"\x1b[>%du" % primary.keyboard)
    number = next((n for n in _SCREENS if terminal.mode(n)), 1049)
    primary.feed(b"\x1b8")
    pen = primary.pen()
    out += [*_place(primary, (1, 1)), pen]
    if number != 1049:
        out.append(b"\x1b7")  # 1049 saves by itself
    # The colour in use fills what is cleared, so the pen goes before the clearing.
    return [*out, b"\x1b[?%dh" % number, _lifted(pen), b"\x1b[2J\x1b[H"]


def _tab_stops(terminal: Emulator) -> bytes:
    stops = terminal.tab_stops()
    usual = b"".join(b"\x1b[%dG\x1bH" % col for col in range(9, terminal.cols + 1, 8))
    return b"" if stops == b"\x1b[3g" + usual + b"\x1b[H" else stops


def _lifted(pen: bytes) -> bytes:
    """What undoes a pen. Character sets are left alone where they can be: naming one is not the same as having none."""
    return _NO_PEN + _NO_SETS if _SETS.search(pen) else _NO_PEN


def _content(terminal: Emulator, history: int) -> bytes:
    """The rows, joined where the program let them wrap, so that they still reflow in a terminal that does that."""
    total, first = terminal.total, max(0, terminal.total - terminal.rows - history)
    scrolled = total - first > terminal.rows
    lines: list[bytes] = []
    row = first
    while row < total:
        last = row
        while terminal.flags(last)[0] and last + 1 < total and _continues(terminal, last + 1):
            last += 1
        lines.append(_line(terminal, row, last))
        row = last + 1
    while lines and not lines[-1] and not scrolled:
        lines.pop()
    return b"\r\n".join(lines)


def _continues(terminal: Emulator, row: int) -> bool:
    """Whether a row can be written as the rest of the one before: that one is written to its end, this one has something to
    write, and neither has clusters. Where a cell was left to a wide character, the row must begin with one: a narrow one would
    go there."""
    first, end = terminal.cell(row, 0), terminal.cell(row - 1, terminal.cols - 1)
    if not first.codepoints or terminal.flags(row)[1] or terminal.flags(row - 1)[1]:
        return False
    return first.wide == 1 if end.wide == 3 else bool(end.codepoints) or end.wide == 2


def _line(terminal: Emulator, row: int, last: int) -> bytes:
    """The rows that are one line."""
    if terminal.flags(row)[1]:
        return _clusters(terminal, row)
    text = terminal.painted(row, 0, terminal.cols - 1, last)
    # Most lines are in one style, and the library writes them as they are.
    if text and b"\x1b" not in text:
        return text
    return b"".join(_cells(terminal, each, 0, terminal.cols, again=each > row) for each in range(row, last + 1))


def _cells(terminal: Emulator, row: int, begin: int, end: int, *, again: bool = False) -> bytes:
    """The cells from `begin` up to `end`. What was filled with a colour is filled again, not written: blanks would reflow. The
    library gives blanks that nobody wrote the style before them, and leaves out all that is filled where there is no text.
    `again`: the row came by a wrap, which may have filled it."""
    out: list[bytes] = []
    at = begin
    for fill, cells in itertools.groupby(terminal.fills(row)[begin:end]):
        length = len(list(cells))
        if fill is None:
            out += [b"\x1b[%dG" % (at + 1) if at else b"", terminal.painted(row, at, at + length - 1)]
        elif fill or again:
            out.append(b"\x1b[%dG\x1b[m%s\x1b[%dX\x1b[m" % (at + 1, fill, length))
        at += length
    return b"".join(out)


def _clusters(terminal: Emulator, row: int) -> bytes:
    """A row with characters of several code points, each put at its column: terminals differ on how wide they are."""
    out: list[bytes] = []
    begin, cols = 0, terminal.cols
    for col in range(cols):
        cell = terminal.cell(row, col)
        if len(cell.codepoints) < 2:
            continue
        out += [_cells(terminal, row, begin, col), b"\x1b[%dG" % (col + 1), _cluster(terminal, row, col)]
        begin = col + (2 if cell.wide == 1 else 1)
    return b"".join([*out, _cells(terminal, row, begin, cols)])


def _cluster(terminal: Emulator, row: int, col: int) -> bytes:
    base, *others = terminal.cell(row, col).codepoints
    wide = terminal.cell(row, col).wide == 1
    painted = terminal.painted(row, col, col + wide)
    # Joined by the terminal only while it clusters; what merely combines needs no mode.
    if not any(terminal.width(point) for point in others) and wide == (terminal.width(base) == 2):
        return painted
    if not _joins(_before(terminal, row, col), base):
        return _CLUSTERS_ON + painted + _CLUSTERS_OFF
    # Its beginning, too, would go to the cell before: that one ended in a joiner, say, and this was printed first.
    whole, rest = ("".join(map(chr, points)).encode() for points in ([base, *others], others))
    return painted.replace(whole, chr(base).encode() + _CLUSTERS_ON + rest + _CLUSTERS_OFF, 1)


def _before(terminal: Emulator, row: int, col: int) -> tuple[int, ...]:
    """What stands in the cell before."""
    if not col:
        return ()
    cell = terminal.cell(row, col - 1)
    return terminal.cell(row, col - 2).codepoints if cell.wide == 2 else cell.codepoints


@functools.lru_cache(1000)
def _joins(before: tuple[int, ...], base: int) -> bool:
    """Whether a terminal that clusters takes a character into the cell before it."""
    if all(point < _COMBINING for point in before):
        return False
    tried = Emulator(1, 8, 0)
    tried.feed("".join(map(chr, (*before, base))).encode())
    return tried.cell(0, 0).codepoints == (*before, base)


def _margins(twin: Emulator) -> list[bytes]:
    top, bottom, left, right = twin.margins()
    out: list[bytes] = []
    if twin.mode(69):
        out.append(b"\x1b[?69h\x1b[%d;%ds" % (left, right))
    if (top, bottom) != (1, twin.rows):
        out.append(b"\x1b[%d;%dr" % (top, bottom))
    return out


def _saved(scratch: Emulator, twin: Emulator) -> list[bytes]:
    """The cursor that the program saved; nothing when it is where a reset leaves it."""
    scratch.feed(b"\x1b8")
    if scratch.cursor == (0, 0) and scratch.pen() == _usual().pen and not scratch.mode(6):
        return []
    return [*_cursor(scratch, twin), b"\x1b7\x1b[?6l", _lifted(scratch.pen())]


def _cursor(terminal: Emulator, twin: Emulator) -> list[bytes]:
    """Origin mode first, because it moves the cursor; then the place, then the pen."""
    if not terminal.mode(6):
        return [*_place(terminal, (1, 1)), terminal.pen()]
    top, _, left, _ = twin.margins()
    return [b"\x1b[?6h", *_place(terminal, (top, left)), terminal.pen()]


def _place(terminal: Emulator, origin: tuple[int, int]) -> list[bytes]:
    row, col = terminal.cursor
    if not terminal.wrap_pending:
        return [b"\x1b[%d;%dH" % (row + 2 - origin[0], col + 2 - origin[1])]
    # Only writing in the last column makes a wrap pending, so what is there is written again.
    seen = terminal.total - terminal.rows + row
    if col and terminal.cell(seen, col).wide == 2:
        col -= 1
    several = len(terminal.cell(seen, col).codepoints) > 1
    wide = terminal.cell(seen, col).wide == 1
    again = _cluster(terminal, seen, col) if several else terminal.painted(seen, col, col + wide)
    return [b"\x1b[%d;%dH" % (row + 2 - origin[0], col + 2 - origin[1]), again or b" "]


def _modes(terminal: Emulator, *, clusters: bool) -> list[bytes]:
    """Those that are not as usual; `clusters`: also whether there are clusters, as that was touched."""
    usual = _usual()
    out: list[bytes] = []
    for number, default in usual.modes.items():
        now = terminal.mode(number)
        if now != default or (clusters and number == CLUSTERS):
            out.append(b"\x1b[?%d%s" % (number, b"h" if now else b"l"))
    for number, default in usual.ansi.items():
        if terminal.mode(number, ansi=True) != default:
            out.append(b"\x1b[%d%s" % (number, b"l" if default else b"h"))
    return out
