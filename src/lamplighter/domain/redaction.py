"""What must never be stored: secrets of well-known forms, and what was marked private. Knows text alone."""

from __future__ import annotations

import re
from typing import NamedTuple

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)


class Redacted(NamedTuple):
    """`secrets` and `private` count what was taken out."""

    text: str
    secrets: int
    private: int


def redact(text: str) -> Redacted:
    """The text as it may be stored."""
    kept, private = _PRIVATE.subn("", text)
    return Redacted(kept, 0, private)
