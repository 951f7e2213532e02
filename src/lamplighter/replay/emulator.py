"""The one place that touches pyghostty, and its edge without types: a terminal in memory that can be asked about.

Knows the library's calls. Knows nothing of logs or of how a screen is written out again.
pyghostty takes 150 ms to import, so it is imported when the first terminal is made.
"""

# pyghostty has no type information; nothing of it leaves this module.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUntypedBaseClass=false, reportAny=false

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

# What an unfinished sequence (a title, an image) may hold and still be carried over by a keyframe.
_UNFINISHED = 1 << 20
_CANCEL = b"\x18"
_MOST_KNOWN = 10_000
CLUSTERS = 2027
"""The mode in which an emoji of several code points takes two columns, not two for each of them."""


class Library(NamedTuple):
    """pyghostty's raw parts: the foreign function interface, the library, and the wrapped terminal."""

    ffi: Any
    lib: Any
    terminal: Any
    sized: Callable[[str], Any]


@functools.cache
def library() -> Library:
    from pyghostty import Terminal, ffi, lib
    from pyghostty.core import init_sized

    return Library(ffi, lib, Terminal, init_sized)


def check(result: int, what: str) -> None:
    if result:
        raise RuntimeError(f"the terminal library could not {what}: {result}")


class Cell(NamedTuple):
    codepoints: tuple[int, ...]
    wide: int  # 0 narrow, 1 wide, 2 the second half of a wide one, 3 left empty before a wide one that did not fit


class Emulator:
    """One terminal. Rows are counted from the top of the history, as `total` rows of which the last `rows` are seen."""

    def __init__(self, rows: int, cols: int, scrollback: int = 1000, *, _native: Any = None) -> None:
        self._g = library()
        made = _native is None
        self._terminal = self._g.terminal(cols, rows, scrollback) if made else _adopted(self._g, _native)
        self._fills: dict[int, bytes | None] = {}
        self._set("CONTINUATION_MAX_BYTES", "size_t*", _UNFINISHED)
        # Output is not to be trusted with memory for pictures that nobody will see.
        self._set("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0)
        # Agents and tmux count on it without asking; the library leaves it off. Setting what is usual also sets what is.
        clusters = made or self.mode(CLUSTERS)
        self._set("MODE_DEFAULT", "GhosttyTerminalModeConfig*", (CLUSTERS, True))
        self._set("MODE", "GhosttyTerminalModeConfig*", (CLUSTERS, clusters))

    def _set(self, option: str, ctype: str, value: int | tuple[int, bool]) -> None:
        key = getattr(self._g.lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(self._g.lib.ghostty_terminal_set(self._native, key, self._g.ffi.new(ctype, value)), f"set {option}")

    @property
    def _native(self) -> Any:
        return self._terminal._t[0]

    def close(self) -> None:
        self._terminal.close()

    def feed(self, data: bytes) -> None:
        self._terminal.feed(data)

    def cancel(self) -> None:
        """Give up an unfinished sequence, as when the rest of it was lost."""
        if not self._terminal.get("vt_ground", "bool"):
            self._terminal.feed(_CANCEL)

    def resize(self, rows: int, cols: int) -> None:
        self._terminal.resize(cols, rows)

    def on_reply(self, reply: Callable[[bytes], None] | None) -> None:
        self._terminal.on_reply(reply)

    def ask(self, query: bytes) -> bytes:
        """What the terminal answers to `query`."""
        said = bytearray()
        self._terminal.on_reply(said.extend)
        self._terminal.feed(query)
        self._terminal.on_reply(None)
        return bytes(said)

    def clone(self) -> Emulator:
        """The same terminal again, to try something out on; not in the middle of a sequence."""
        ffi, lib = self._g.ffi, self._g.lib
        data, size = ffi.new("uint8_t**"), ffi.new("size_t*")
        check(lib.ghostty_snapshot_encode_alloc(self._native, ffi.NULL, data, size), "take a snapshot")
        decoder, native = ffi.new("GhosttySnapshotDecoder*"), ffi.new("GhosttyTerminal*")
        try:
            check(lib.ghostty_snapshot_decoder_new_buf(ffi.NULL, decoder, data[0], size[0]), "read a snapshot")
            try:
                check(lib.ghostty_snapshot_decoder_decode(decoder[0], native), "restore a snapshot")
            finally:
                lib.ghostty_snapshot_decoder_free(decoder[0])
        finally:
            lib.ghostty_free(ffi.NULL, data[0], size[0])
        twin = Emulator(self.rows, self.cols, _native=native)
        twin.cancel()
        return twin

    # What can be asked of it

    @property
    def rows(self) -> int:
        return int(self._terminal.get("rows"))

    @property
    def cols(self) -> int:
        return int(self._terminal.get("cols"))

    @property
    def total(self) -> int:
        return int(self._terminal.get("total_rows", "size_t"))

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column from 0."""
        return int(self._terminal.get("cursor_y")), int(self._terminal.get("cursor_x"))

    @property
    def wrap_pending(self) -> bool:
        """Whether the last column was just written, so that the next character goes to the next row."""
        return bool(self._terminal.get("cursor_pending_wrap", "bool"))

    @property
    def alternate(self) -> bool:
        return self._terminal.get("active_screen", "GhosttyTerminalScreen") != 0

    @property
    def keyboard(self) -> int:
        """The flags of the kitty keyboard protocol."""
        return int(self._terminal.get("kitty_keyboard_flags", "uint8_t"))

    @property
    def title(self) -> str:
        return self._string("title")

    @property
    def folder(self) -> str:
        """The working folder that the program reported, as a URL."""
        return self._string("pwd").rstrip("\0")

    def _string(self, key: str) -> str:
        value = self._terminal.get(key, "GhosttyString")
        raw = self._g.ffi.buffer(value.ptr, value.len)[:] if value.len else b""
        return raw.decode("utf-8", "replace")

    def mode(self, number: int, ansi: bool = False) -> bool:
        return bool(self._terminal.mode(number, ansi))

    def unfinished(self) -> bytes:
        """The bytes of a sequence or a character that has begun and not ended; none when it is too long to keep."""
        ffi, size = self._g.ffi, self._g.ffi.new("size_t*")
        room = 4096
        while room <= _UNFINISHED:
            buffer = ffi.new("uint8_t[]", room)
            if not self._g.lib.ghostty_terminal_continuation_buf(self._native, buffer, room, size):
                return ffi.buffer(buffer, size[0])[:]
            room *= 16
        return b""

    def colours(self) -> list[tuple[str, tuple[int, int, int]]]:
        """The colours that the program changed, as the number of their OSC and the new value."""
        g, changed = self._g, []
        current, usual = g.ffi.new("GhosttyColorRgb[256]"), g.ffi.new("GhosttyColorRgb[256]")
        for key, out in (("COLOR_PALETTE", current), ("COLOR_PALETTE_DEFAULT", usual)):
            check(g.lib.ghostty_terminal_get(self._native, getattr(g.lib, f"GHOSTTY_TERMINAL_DATA_{key}"), out), key)
        if g.ffi.buffer(current)[:] != g.ffi.buffer(usual)[:]:
            pairs = [((c.r, c.g, c.b), (u.r, u.g, u.b)) for c, u in zip(current, usual, strict=True)]
            changed = [(f"4;{i}", colour) for i, (colour, default) in enumerate(pairs) if colour != default]
        for number, key in (("10", "COLOR_FOREGROUND"), ("11", "COLOR_BACKGROUND"), ("12", "COLOR_CURSOR")):
            colour = g.ffi.new("GhosttyColorRgb*")
            if not g.lib.ghostty_terminal_get(self._native, getattr(g.lib, f"GHOSTTY_TERMINAL_DATA_{key}"), colour):
                changed.append((number, (colour.r, colour.g, colour.b)))
        return changed

    # Rows and cells

    def plain(self, first: int, last: int) -> list[str]:
        """Rows as text, as they are seen, without trailing blanks."""
        text = self._format(0, first, self.cols - 1, last, "PLAIN").decode("utf-8", "replace")
        lines = [line.rstrip() for line in text.split("\n")]
        return lines + [""] * (last - first + 1 - len(lines))

    def painted(self, row: int, begin: int, end: int, last: int | None = None) -> bytes:
        """The cells from `begin` to `end` (of row `last`, when they wrapped onto it) as text with its styles."""
        last = row if last is None else last
        # A cell left empty before a wide character would bring that one along, from the next row.
        if end and self.cell(last, end).wide == 3:
            end -= 1
            if (last, end) < (row, begin):
                return b""
        return self._format(begin, row, end, last, "VT", unwrap=True)

    def flags(self, row: int) -> tuple[bool, bool]:
        """Whether the row goes on in the next, and whether a cell of it has more than one code point."""
        g, value, out = self._g, self._g.ffi.new("GhosttyRow*"), self._g.ffi.new("bool*")
        check(g.lib.ghostty_grid_ref_row(self._terminal.ref(0, row, "screen"), value), "read a row")
        answers: list[bool] = []
        for key in (g.lib.GHOSTTY_ROW_DATA_WRAP, g.lib.GHOSTTY_ROW_DATA_GRAPHEME):
            check(g.lib.ghostty_row_get(value[0], key, out), "read a row's flag")
            answers.append(bool(out[0]))
        return answers[0], answers[1]

    def cell(self, row: int, col: int) -> Cell:
        g, ref = self._g, self._terminal.ref(col, row, "screen")
        value, wide = g.ffi.new("GhosttyCell*"), g.ffi.new("GhosttyCellWide*")
        points, count = g.ffi.new("uint32_t[64]"), g.ffi.new("size_t*")
        check(g.lib.ghostty_grid_ref_cell(ref, value), "read a cell")
        check(g.lib.ghostty_cell_get(value[0], g.lib.GHOSTTY_CELL_DATA_WIDE, wide), "read a cell's width")
        if g.lib.ghostty_grid_ref_graphemes(ref, points, 64, count):
            return Cell((), int(wide[0]))
        return Cell(tuple(points[0 : count[0]]), int(wide[0]))

    def fills(self, row: int) -> list[bytes | None]:
        """Of each cell: None where text was written, else the colour that it was erased in, as a sequence; b"" for none."""
        g, ref, value = self._g, self._terminal.ref(0, row, "screen"), self._g.ffi.new("GhosttyCell*")
        read, found, known = g.lib.ghostty_grid_ref_cell, list[bytes | None](), self._fills
        if len(known) > _MOST_KNOWN:
            known.clear()  # there are as many kinds of cells as a program likes to print
        for col in range(self.cols):
            ref.x = col
            check(read(ref, value), "read a cell")
            raw = value[0]
            if raw not in known:
                known[raw] = self._fill(raw)
            found.append(known[raw])
        return found

    def _fill(self, raw: int) -> bytes | None:
        g = self._g

        def ask(key: str, kind: str) -> Any:
            out = g.ffi.new(kind)
            check(
                g.lib.ghostty_cell_get(raw, getattr(g.lib, f"GHOSTTY_CELL_DATA_{key}"), out), "read what is in a cell"
            )
            return out

        tag = ask("CONTENT_TAG", "GhosttyCellContentTag*")[0]
        if tag == g.lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE:
            return b"\x1b[48;5;%dm" % ask("COLOR_PALETTE", "uint8_t*")[0]
        if tag == g.lib.GHOSTTY_CELL_CONTENT_BG_COLOR_RGB:
            colour = ask("COLOR_RGB", "GhosttyColorRgb*")
            return b"\x1b[48;2;%d;%d;%dm" % (colour.r, colour.g, colour.b)
        return None if raw else b""

    def width(self, codepoint: int) -> int:
        return int(self._g.lib.ghostty_unicode_codepoint_width(codepoint))

    def _format(self, x0: int, y0: int, x1: int, y1: int, emit: str, unwrap: bool = False, **extra: bool) -> bytes:
        g = self._g
        selection = g.sized("GhosttySelection")
        selection.start = self._terminal.ref(x0, y0, "screen")[0]
        selection.end = self._terminal.ref(x1, y1, "screen")[0]
        options = g.sized("GhosttyFormatterTerminalOptions")
        options.emit = getattr(g.lib, f"GHOSTTY_FORMATTER_FORMAT_{emit}")
        options.unwrap, options.trim, options.selection = unwrap, emit == "PLAIN", selection
        for name, wanted in extra.items():
            setattr(options.extra if hasattr(options.extra, name) else options.extra.screen, name, wanted)
        formatter, size = g.ffi.new("GhosttyFormatter*"), g.ffi.new("size_t*")
        check(g.lib.ghostty_formatter_terminal_new(g.ffi.NULL, formatter, self._native, options[0]), "format")
        try:
            g.lib.ghostty_formatter_format_buf(formatter[0], g.ffi.NULL, 0, size)
            buffer = g.ffi.new("uint8_t[]", max(size[0], 1))
            check(g.lib.ghostty_formatter_format_buf(formatter[0], buffer, len(buffer), size), "format")
        finally:
            g.lib.ghostty_formatter_free(formatter[0])
        return g.ffi.buffer(buffer, size[0])[:]

    # State that has no getter: the formatter writes it before or after the cell it is asked for

    def pen(self) -> bytes:
        """Sequences for the style, link, protection and character sets that the next character will have."""
        return self._after("style", "hyperlink", "protection", "charsets")

    def key_format(self) -> bytes:
        return self._after("keyboard")

    def tab_stops(self) -> bytes:
        bare = self._format(0, 0, 0, 0, "VT")
        return self._format(0, 0, 0, 0, "VT", tabstops=True).removesuffix(bare)

    def _after(self, *names: str) -> bytes:
        bare = self._format(0, 0, 0, 0, "VT")
        return self._format(0, 0, 0, 0, "VT", **dict.fromkeys(names, True)).removeprefix(bare)

    def margins(self) -> tuple[int, int, int, int]:
        """Top, bottom, left and right of the scrolling region, from 1. Asks, so use it on a clone."""
        top, bottom = _numbers(self.ask(b"\x1bP$qr\x1b\\")) or (1, self.rows)
        left, right = (_numbers(self.ask(b"\x1bP$qs\x1b\\")) if self.mode(69) else None) or (1, self.cols)
        return top, bottom, left, right

    def cursor_shape(self) -> bytes:
        """The number of the cursor's shape. Asks, so use it on a clone."""
        found = re.search(rb"\$r(\d+) q", self.ask(b"\x1bP$q q\x1b\\"))
        return found.group(1) if found else b"0"


def _numbers(reply: bytes) -> tuple[int, int] | None:
    found = re.search(rb"\$r(\d+);(\d+)[rs]", reply)
    return (int(found.group(1)), int(found.group(2))) if found else None


def _adopted(g: Library, native: Any) -> Any:
    """The wrapper's methods around a terminal that it did not make."""
    terminal = g.terminal.__new__(g.terminal)
    terminal._t = native
    terminal._unknown_cb = terminal._reply_cb = terminal._cb_err = None
    terminal._free = weakref.finalize(terminal, g.lib.ghostty_terminal_free, native[0])
    return terminal
