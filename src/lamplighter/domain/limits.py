"""How long a session may be quiet or live, and how much memory its tree may take. Knows no clock."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from lamplighter.domain.duration import format_duration, parse_duration
from lamplighter.errors import Code, InputError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SMALLEST = 1 << 20
_LARGEST = 1 << 60
NONE = "none"
"""Takes away what the settings would give a session of its kind."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes; None where there is none."""

    idle: float | None = None
    age: float | None = None
    memory: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Limits:
        return Limits(**document)


NO_LIMITS = Limits()


def choose(default: Limits, idle: str | None, age: str | None, memory: str | None) -> Limits:
    """What was asked for, over what the settings give."""
    chosen = default
    if idle is not None:
        chosen = replace(chosen, idle=None if idle == NONE else positive_duration(idle, "idle_limit"))
    if age is not None:
        chosen = replace(chosen, age=None if age == NONE else positive_duration(age, "max_age"))
    if memory is not None:
        chosen = replace(chosen, memory=None if memory == NONE else parse_size(memory, "max_memory"))
    return chosen


def positive_duration(text: str | float, what: str) -> float:
    seconds = parse_duration(text, what)
    if seconds <= 0:
        raise InputError(Code.BAD_INPUT, f"{what} is nothing", f"give a length of time, or {NONE} for no limit")
    return seconds


def parse_size(text: str | int, what: str) -> int:
    """Bytes: 500M, 2G, 1.5GiB. Decimal, but for KiB, MiB, GiB."""
    found = _SIZE.fullmatch(str(text).strip().lower())
    size = float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2]] if found else 0.0
    if not _SMALLEST <= size <= _LARGEST:
        raise InputError(
            Code.BAD_INPUT,
            f"{what} is not an amount of memory: {str(text)[:40]!r}",
            "write it as 500M, 2G or 1.5GiB; 1 MiB is the least",
        )
    return int(size)


def format_size(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def breach_words(limit: str, allowed: float, reached: float) -> str:
    """Why a session is ended, naming the limit that it passed."""
    if limit == "memory":
        return f"memory limit of {format_size(allowed)} passed: {format_size(reached)}"
    most, now = format_duration(allowed), format_duration(reached)
    return {
        "idle": f"idle limit of {most} passed: quiet for {now}",
        "age": f"age limit of {most} passed: {now} old",
        "orphan": f"orphan grace of {most} passed: orphaned for {now}",
    }[limit]
