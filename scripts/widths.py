"""Part of `make vendor`: how many columns the daemon's terminal gives to what is printed, as a table for the page's.

Asks the emulator, and knows no rule of Unicode: code points that it treats alike in every surrounding are one kind, and what
a cell may hold is a state, told from the others by what the next code points do to it.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from lamplighter.replay.emulator import Emulator, library
from scripts import outsiders

PLACE = outsiders.LIBRARIES.folder / "widths.table.js"
STARTS, IGNORED = "-", "."
"""Of a code point after a cell: it goes to the next cell, or nowhere. Else it joins, and the state of the cell is named."""

# Where code points of different kinds show that they differ: x is the code point.
_SURROUNDINGS = (
    "x ax 👩x 👩\u200dx ❤x ❤\u200dx ☝x ⌚x 🇩x 🇩🇪x ᄀx 가x 각x कx क\u094dx \u0600x x\u0301 x\u200d x\u0903 x🏽 x\ufe0f x\ufe0e x🇪 "
    "xᄀ xᅡ xᆨ x\u094dक xक x\u200d👩 x\u200d❤ xa x\u0600 कxक क\u094dxक 👩x\u200d👩"
)
_NAMES = string.ascii_uppercase + string.digits
_DIGITS = string.ascii_lowercase
_LINE = 118
_HEAD = """\
// Made by `make vendor` from the daemon's terminal; scripts/widths.py says what it is.
"""


def main() -> None:
    PLACE.write_text(table())


def table() -> str:
    kinds = _kinds()
    firsts = dict[int, int]()
    for code, kind in kinds.items():
        firsts.setdefault(kind, code)
    letters = [chr(code) for code in firsts.values()]
    said = [f"export const RUNS = {_quoted(''.join(_runs(kinds)))};\n"]
    for name, mode in (("TOGETHER", b"\x1b[?2027h"), ("APART", b"\x1b[?2027l")):
        learnt = Automaton(letters, mode)
        parts = {
            "begins": "".join(learnt.begins),
            "widths": "".join(map(str, learnt.widths)),
            "moves": "".join(map("".join, learnt.moves)),
        }
        said.append(
            f"export const {name} = {{{', '.join(f'{key}: {_quoted(text)}' for key, text in parts.items())}}};\n"
        )
    return _HEAD + "".join(said)


def _kinds() -> dict[int, int]:
    """Of each code point that is printed, the number of its kind; in the order of their first ones."""
    g = library()
    width, points = g.ffi.new("uint8_t*"), g.ffi.new("uint32_t[8]")
    codes = [code for code in range(0x20, 0x110000) if not (0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000)]
    # Below 256 nothing is joined with what stands before it.
    seen: dict[int, list[Any]] = {code: [code < 0x100, g.lib.ghostty_unicode_codepoint_width(code)] for code in codes}
    for text in _SURROUNDINGS.split():
        at = text.index("x")
        for place, letter in enumerate(text):
            points[place] = ord(letter)
        for code, found in seen.items():
            points[at] = code
            found += (g.lib.ghostty_unicode_grapheme_width(points, len(text), width), width[0])
    numbers: dict[tuple[Any, ...], int] = {}
    return {code: numbers.setdefault(tuple(found), len(numbers)) for code, found in seen.items()}


def _runs(kinds: dict[int, int]) -> Iterator[str]:
    """From 0 on: the name of a kind, and how many follow the first code point of it. What is never printed is as what is
    before it."""
    full = dict[int, int]()
    last = 0
    for code in range(0x110000):
        last = full[code] = kinds.get(code, last)
    for kind, codes in groupby(full.values()):
        yield _NAMES[kind] + _number(sum(1 for _ in codes) - 1)


def runs(text: str) -> Iterator[tuple[str, int]]:
    """What a table says of the code points, from 0 on: the name of a kind, and how many are of it."""
    (packed,) = re.findall(r"RUNS = `([^`]*)`", text)
    for name, digits in re.findall(r"([A-Z\d])([a-z]*)", packed.replace("\n", "")):
        yield name, 1 + functools.reduce(lambda sum, digit: sum * len(_DIGITS) + _DIGITS.index(digit), digits, 0)


def _number(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _quoted(text: str) -> str:
    return "\n".join(("`", *(text[at : at + _LINE] for at in range(0, len(text), _LINE)), "`"))


class Automaton:
    """What cells there are, as far as columns go: of each its width, and what each kind of code point makes of it. `begins`: the
    cell that a kind makes by itself."""

    def __init__(self, letters: list[str], mode: bytes) -> None:
        self.letters = letters
        self._terminal = Emulator(2, 20, 0)
        self._terminal.feed(mode)
        self._found: dict[object, int] = {}
        self._texts: list[str] = []
        self.begins = [self._state(letter) if self._look(letter)[0] else IGNORED for letter in letters]
        self.widths: list[int] = []
        self.moves: list[list[str]] = []
        for text in self._texts:  # which grows meanwhile
            self.widths.append(self._look(text)[0])
            self.moves.append([self._move(text, letter) for letter in letters])

    def _move(self, text: str, letter: str) -> str:
        said, _ = self._after(text, letter)
        return said or self._state(text + letter)

    def _state(self, text: str) -> str:
        behaviour = (self._look(text)[0], *(self._behaviour(text, letter) for letter in self.letters))
        number = self._found.setdefault(behaviour, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return _NAMES[number]

    def _behaviour(self, text: str, letter: str) -> object:
        said, column = self._after(text, letter)
        return said or (column, *(self._after(text + letter, other) for other in self.letters))

    def _after(self, text: str, letter: str) -> tuple[str, int]:
        """Where one more goes, "" when into the cell; and the column then."""
        before, after = self._look(text), self._look(text + letter)
        if after == before:
            return IGNORED, after[0]
        return "" if after[1] == (*before[1], ord(letter)) else STARTS, after[0]

    def _look(self, text: str) -> tuple[int, tuple[int, ...]]:
        """The column after a text, and what is in its first cell."""
        self._terminal.feed(b"\r\x1b[K" + text.encode())
        return self._terminal.cursor[1], self._terminal.cell(0, 0).codepoints


if __name__ == "__main__":
    main()
