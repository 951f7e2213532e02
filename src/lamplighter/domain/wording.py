"""Text as it is searched: records and queries are brought into the same shape. Knows nothing of what is searched."""

from __future__ import annotations

import unicodedata


def normalised(text: str) -> str:
    """The text as the index has it."""
    return unicodedata.normalize("NFKC", text)
