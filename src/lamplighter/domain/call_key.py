"""Keys of calls. Those that our own clients make say when they were made: so a store that was lost can tell a call of before the
loss from one of after it. Knows nothing of how keys are kept.

A key is a UUID of version 7 without its dashes: milliseconds since 1970, then chance. Anything else is a key too; when that was
made is not known. Standard library only, and little of that: the hook's command and the bridge make keys.
"""

from __future__ import annotations

import os
import time

_LENGTH = 32
_DIGITS = frozenset("0123456789abcdef")


def new_key() -> str:
    """One that nobody has had."""
    made = f"{time.time_ns() // 1_000_000:012x}"
    chance = os.urandom(10).hex()
    return f"{made}7{chance[:3]}{'89ab'[int(chance[3], 16) & 3]}{chance[4:19]}"


def made_at(key: str) -> float | None:
    """When it was made, by the clock of whoever made it; None when it does not say. Calls that one call makes add to its key."""
    word = key.partition("/")[0]
    if len(word) != _LENGTH or word[12] != "7" or word[16] not in "89ab" or not _DIGITS.issuperset(word):
        return None
    return int(word[:12], 16) / 1000
