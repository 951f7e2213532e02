"""A TOML file of somebody else's with one table of ours in it, between two lines that say whose it is.

TOML lets a table stand anywhere, so ours is put at the end and nothing else moves. Knows text; knows nothing of what it is for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

BEGIN = "# lamp install wrote this; lamp uninstall takes it away"
END = "# end of what lamp install wrote"
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class TextError(ValueError):
    """It is no TOML, or says the same in a form that is not ours to change."""


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TextError(str(error)) from None


def value_at(text: str, keys: Sequence[str]) -> Any:
    """What the file says there, in whatever form; None when it says nothing."""
    found: Any = parse(text)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return found  # pyright: ignore[reportUnknownVariableType]


def with_table(text: str, keys: Sequence[str], body: str) -> str:
    """The text with this table, whose header is in `body`; one that stands there already gives way to it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    clean = without_table(text, keys)
    gap = "" if not clean else newline if clean.endswith("\n") else newline * 2
    block = f"{BEGIN}\n{body.rstrip()}\n{END}\n"
    return clean + gap + block.replace("\n", newline)


def without_table(text: str, keys: Sequence[str]) -> str:
    """The text without the table and those below it, and without our two lines. TextError when it is there in another form."""
    parse(text)
    named = re.escape(".".join(keys))
    for span in reversed([*_spans(text, re.compile(rf"^[ \t]*\[{named}(?:\.[^\]\n]+)?\][^\n]*\n?", re.MULTILINE))]):
        text = text[: span[0]] + text[span[1] :]
    marks = re.compile(rf"(?:\r?\n)?^(?:{re.escape(BEGIN)}|{re.escape(END)})[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    text = marks.sub("", text)
    if value_at(text, keys) is not None:
        raise TextError(f"{'.'.join(keys)} is set there in another way than as a table of its own; take it out first")
    return text


def _spans(text: str, header: re.Pattern[str]) -> list[tuple[int, int]]:
    """From each such header to what belongs to the next table: its header, or the comment right above that."""
    found: list[tuple[int, int]] = []
    for match in header.finditer(text):
        end = _HEADER.search(text, match.end())
        stop = end.start() if end else len(text)
        mark = re.compile(rf"^{re.escape(END)}", re.MULTILINE).search(text, match.end(), stop)
        found.append((match.start(), mark.start() if mark else stop))
    return found
