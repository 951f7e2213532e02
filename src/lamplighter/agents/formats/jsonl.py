"""Files of JSON lines that others write, read within bounds: a growing file, half a line, garbage, a line of many megabytes.

Nothing in such a file is an error: what cannot be read is passed over. Knows nothing of what the lines mean.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, cast

LONGEST_LINE = 16 << 20
HEAD = 1 << 20
TAIL = 8 << 20
FARTHEST = 32 << 20
_PIECE = 1 << 16
_LATEST = 1e11  # in the year 5138


class JsonLine(NamedTuple):
    """One line's document, and where the line after it begins."""

    document: dict[str, Any]
    next: int


def open_own(path: str) -> BinaryIO | None:
    """The file, when it is a regular one of this user; never a device or a pipe, whatever the path leads to."""
    try:
        if not _is_own(os.stat(path)):  # before it is opened: opening a device may already do something
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    if not _is_own(os.fstat(descriptor)):
        os.close(descriptor)
        return None
    return open(descriptor, "rb")


def _is_own(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()


def is_own(path: str) -> bool:
    try:
        return _is_own(os.stat(path))
    except (OSError, ValueError):
        return False


def size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def entries(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[JsonLine]:
    """The documents of the lines that begin between two places; a start within a line begins with the next line. What was
    written after the call began is not read. To go on later, start at the `next` of the last one."""
    end = min(size_of(file), end if end is not None else 1 << 62)
    place = start
    try:
        if start > 0:
            file.seek(start - 1)
            place = start - 1 + _skip(file, end - start + 1)
        while place < end:
            file.seek(place)
            line = file.readline(min(LONGEST_LINE, end - place))
            if not line:
                return
            if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
                place += len(line) + _skip(file, end - place - len(line))
                continue
            place += len(line)
            document = parse(line)
            if document is not None:
                yield JsonLine(document, place)
    except OSError:
        return


def _skip(file: BinaryIO, most: int) -> int:
    """To the end of a line, however long, without keeping it; how far that was."""
    passed = 0
    while passed < most:
        piece = file.readline(min(_PIECE, most - passed))
        passed += len(piece)
        if not piece or piece.endswith(b"\n"):
            break
    return passed


def head(file: BinaryIO) -> list[dict[str, Any]]:
    """The documents at the beginning."""
    return [entry.document for entry in entries(file, 0, HEAD)]


def head_of(path: str) -> list[dict[str, Any]] | None:
    """The same by the file's path; None when it is no regular file of this user."""
    file = open_own(path)
    if file is None:
        return None
    with file:
        return head(file)


def document_of(path: str, longest: int = HEAD) -> dict[str, Any]:
    """What a file with one document says; nothing, for any other."""
    file = open_own(path)
    if file is None:
        return {}
    with file:
        return parse(file.read(longest)) or {}


def parse(line: bytes) -> dict[str, Any] | None:
    try:
        document: Any = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # no JSON, half of it, too deep, a number of too many digits
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


# -- values that may be anything


def mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def mappings(value: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", item) for item in listing(value) if isinstance(item, dict)]


def words(value: Any) -> str:
    """A text that can be written: half of a character pair cannot."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def counts(found: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int]:
    """The counts that stand under these names, by what we call them."""
    return {ours: count(found.get(theirs)) for ours, theirs in names.items()}


def first_words(found: Mapping[str, Any], names: Iterable[str]) -> str:
    """The text under the first of these names that has one."""
    return next((text for name in names if (text := words(found.get(name)))), "")


def number(text: str) -> int | None:
    """A whole number that was written as a text: not every text of digits is one, and Python reads none of thousands of them."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def moment(value: Any) -> float | None:
    """Unix seconds, of an ISO time or of milliseconds."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
        return found if 0 < found < _LATEST else None  # at the ends of time there are some that no clock can show
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 < value < 1e14:
        return value / 1000 if value > _LATEST else float(value)
    return None
