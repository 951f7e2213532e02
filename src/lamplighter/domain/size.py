"""Amounts of memory as people write them: 500M, 2G, 1.5GiB."""

from __future__ import annotations

from lamplighter import lazy_re as re
from lamplighter.errors import Code, InputError

_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SMALLEST = 1 << 20
_LARGEST = 1 << 60


def parse_size(text: str | int, what: str) -> int:
    """Bytes. Decimal, but for KiB, MiB, GiB."""
    found = _FORM.fullmatch(str(text).strip().lower())
    size = float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2]] if found else 0.0
    if not _SMALLEST <= size <= _LARGEST:
        raise InputError(
            Code.BAD_INPUT,
            f"{what} is not an amount of memory: {str(text)[:40]!r}",
            "write it as 500M, 2G or 1.5GiB; 1 MiB is the least",
        )
    return int(size)


def format_size(count: float) -> str:
    """Bytes as people say them: 512 B, 3.4 kB, 1.2 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
