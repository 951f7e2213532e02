"""Moments as text: Unix seconds as ISO 8601 in UTC, and back."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(seconds: float, precision: str = "seconds") -> str:
    """2026-03-01T09:30:00Z; with `milliseconds` to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def read_timestamp(text: str) -> float | None:
    """A date or a time, in UTC where no zone is given; None when it is neither."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
