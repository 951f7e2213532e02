"""Durations as people write them: 5, 5s, 30m, 8h, 2d. Knows no clock."""

from __future__ import annotations

import re

from lamplighter.errors import Code, InputError

_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST = 10 * 365 * 86400.0


def parse_duration(text: str | float, what: str = "duration") -> float:
    """Seconds. Refuses what is negative, not a number, or longer than ten years."""
    found = _FORM.fullmatch(str(text).strip().lower())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else -1.0
    if not 0 <= seconds <= LONGEST:
        raise InputError(
            Code.BAD_INPUT,
            f"{what} is not a length of time: {str(text)[:40]!r}",
            "write it as 5, 5s, 30m, 8h or 2d",
        )
    return seconds


def format_duration(seconds: float) -> str:
    """The two largest units that say something: 45s, 12m, 3h05m, 2d04h."""
    whole = int(max(0.0, seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s" if whole < 600 else f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"
