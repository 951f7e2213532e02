"""Writing what must not be lost: however long the store takes, because of a full disk or a lock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from lamplighter.errors import UnavailableError

log = logging.getLogger(__name__)
_LONGEST_PAUSE = 10.0


async def persist(write: Callable[[], Awaitable[object]], what: str) -> None:
    """Tried again and again until it is written; sessions go on meanwhile."""
    pause = 0.1
    while True:
        try:
            await write()
            return
        except UnavailableError as error:
            log.error("%s cannot be written yet: %s", what, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
