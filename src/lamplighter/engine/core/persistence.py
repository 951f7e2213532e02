"""What must not be lost to a full disk or a lock: tried again, however long the store takes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from lamplighter.errors import UnavailableError

T = TypeVar("T")
log = logging.getLogger(__name__)
_LONGEST_PAUSE = 10.0


async def persist(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """Again and again until the store takes it; sessions go on meanwhile."""
    pause = 0.1
    while True:
        try:
            return await attempt()
        except UnavailableError as error:
            log.error("%s has to wait for the store: %s", what, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
