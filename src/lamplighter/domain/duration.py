"""Durations as people write them: 5, 5s, 30m, 10min, 1h30m, 2d. Knows no clock."""

from __future__ import annotations

from lamplighter import lazy_re as re
from lamplighter.errors import Code, InputError

_UNITS = {
    0.001: ("ms", "millisecond", "milliseconds"),
    1.0: ("", "s", "sec", "secs", "second", "seconds"),
    60.0: ("m", "min", "mins", "minute", "minutes"),
    3600.0: ("h", "hr", "hrs", "hour", "hours"),
    86400.0: ("d", "day", "days"),
    604800.0: ("w", "week", "weeks"),
}
_SECONDS = {word: seconds for seconds, words in _UNITS.items() for word in words}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
LONGEST = 10 * 365 * 86400.0


def parse_duration(text: str | float, what: str = "duration") -> float:
    """Seconds. Refuses what is negative, not a number, or longer than ten years."""
    seconds = _sum(str(text).strip().lower())
    if seconds is None or not 0 <= seconds <= LONGEST:
        raise InputError(
            Code.BAD_INPUT,
            f"{what} is not a length of time: {str(text)[:40]!r}",
            "write it as 5, 5s, 30m, 1h30m, 8h or 2d",
        )
    return seconds


def _sum(text: str) -> float | None:
    """Of its parts, each with a unit, the larger ones first; a number alone is seconds. None when it is no length of time."""
    parts = list(_PART.finditer(text))
    units = [_SECONDS.get(part[2]) for part in parts]
    if not parts or "".join(part[0] for part in parts) != text or len(text) > 100:
        return None
    if len(parts) > 1 and ("" in [part[2] for part in parts]):
        return None
    known = [unit for unit in units if unit is not None]
    if len(known) < len(parts) or sorted(set(known), reverse=True) != known:
        return None
    return sum(float(part[1]) * unit for part, unit in zip(parts, known, strict=True))


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
