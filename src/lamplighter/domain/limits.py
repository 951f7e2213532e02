"""How long a session may be quiet or live, and how much memory its tree may take. Knows no clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lamplighter import lazy_re as re
from lamplighter.domain.duration import format_duration, parse_duration
from lamplighter.domain.size import format_size, parse_size
from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

NONE = "none"
"""Takes away what the settings would give a session of its kind."""
_REASON = re.compile(r"(memory|idle|age) limit of .+ passed: ")


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes; None where there is none."""

    idle: float | None = None
    age: float | None = None
    memory: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

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


def limit_in(reason: str) -> str | None:
    """Which limit a reason says was passed: memory, idle or age. The kernel's own words for memory too."""
    found = _REASON.match(reason)
    return found[1] if found else None
