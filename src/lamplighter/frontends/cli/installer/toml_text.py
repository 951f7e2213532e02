"""A TOML file of somebody else's with one table of ours in it, between two lines that say whose it is.

TOML lets a table stand anywhere, so ours is put at the end and nothing else moves. Knows text; knows nothing of what it is for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, cast

BEGIN = "# lamp install wrote this; lamp uninstall takes it away"
END = "# end of what lamp install wrote"
_BOM = "\ufeff"
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class TomlTextError(ValueError):
    """It is no TOML, or says the same in a form that is not ours to change."""


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlTextError(str(error)) from None


def value_at(text: str, keys: Sequence[str]) -> Any:
    """What the file says there, in whatever form; None when it says nothing."""
    found: Any = parse(text)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return found  # pyright: ignore[reportUnknownVariableType]


def with_table(text: str, keys: Sequence[str], body: str) -> str:
    """The text with this table, whose header is in `body`; one that stands there already gives way to it."""
    return with_text(text, keys, f"{BEGIN}\n{body.rstrip()}\n{END}\n")


def with_text(text: str, keys: Sequence[str], block: str) -> str:
    """The text with these lines in place of the table, or at its end when it has none."""
    newline = "\r\n" if "\r\n" in text else "\n"
    clean = without_table(text, keys)
    at = _place(text, keys, clean)
    if at is None:
        gap = "" if not clean.strip(_BOM) else newline if clean.endswith("\n") else newline * 2
        return clean + gap + _in_lines_of(block, newline)
    behind = newline if clean[at:].strip() and not block.endswith("\n\n") else ""
    return clean[:at] + _in_lines_of(block, newline) + behind + clean[at:]


def table(keys: Sequence[str], value: dict[str, Any]) -> str:
    """A table of texts, lists of texts and one level more. A JSON string is a TOML string too."""
    lines = [f"[{'.'.join(keys)}]"]
    for name, given in value.items():
        if isinstance(given, dict):
            pairs = cast("dict[str, str]", given)
            inner = ", ".join(f"{key} = {json.dumps(text)}" for key, text in pairs.items())
            lines.append(f"{name} = {{ {inner} }}")
        else:
            lines.append(f"{name} = {json.dumps(given)}")
    return "\n".join(lines) + "\n"


def text_of(text: str, keys: Sequence[str]) -> str:
    """The table and those below it, as they are written."""
    return "".join(text[start:end] for start, end in _spans(text, _headers(keys)))


def _place(text: str, keys: Sequence[str], clean: str) -> int | None:
    """Where in the text without the table it stood, unless that is at the end."""
    spans = _spans(text, _headers(keys))
    if not spans:
        return None
    head = common_prefix(text[: spans[0][0]], clean)
    return head if clean[head:].strip() else None


def _in_lines_of(block: str, newline: str) -> str:
    return block.replace("\r\n", "\n").replace("\n", newline)


def without_table(text: str, keys: Sequence[str]) -> str:
    """The text without the table and those below it, and without our two lines. TextError when it is there in another form."""
    parse(text)
    for start, end in reversed(_spans(text, _headers(keys))):
        text = text[:start] + text[end:]
    marks = re.compile(rf"(?:\r?\n)?^(?:{re.escape(BEGIN)}|{re.escape(END)})[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    text = marks.sub("", text)
    if value_at(text, keys) is not None:
        raise TomlTextError(
            f"{'.'.join(keys)} is set there in another way than as a table of its own; take it out first"
        )
    return text


def _headers(keys: Sequence[str]) -> re.Pattern[str]:
    """Of the table, and of those below it."""
    return re.compile(rf"^{_BOM}?[ \t]*\[{re.escape('.'.join(keys))}(?:\.[^\]\n]+)?\][^\n]*\n?", re.MULTILINE)


def _spans(text: str, header: re.Pattern[str]) -> list[tuple[int, int]]:
    """From each such header to what belongs to the next table: its header, or the comment right above that."""
    found: list[tuple[int, int]] = []
    for match in header.finditer(text):
        end = _HEADER.search(text, match.end())
        stop = end.start() if end else len(text)
        mark = re.compile(rf"^{re.escape(END)}", re.MULTILINE).search(text, match.end(), stop)
        found.append((match.start(), mark.start() if mark else stop))
    return found


def common_prefix(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
