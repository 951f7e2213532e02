"""Signs of life of a call that takes long: many clients give up on one that says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from lamplighter.frontends.mcp.tool_context import ToolContext

_SECONDS = 5.0


@asynccontextmanager
async def ticking(conversation: ToolContext) -> AsyncGenerator[None]:
    """A word every few seconds, until the call has steps of its own to tell. It counts for less than the first step, whenever
    that comes: what is told must never run backwards."""
    plain = conversation.tell
    steps = False

    async def tell(done: float, total: float | None, message: str) -> None:
        nonlocal steps
        steps = True
        await plain(done, total, message)

    async def tick() -> None:
        ticks = 0
        while not steps:
            await asyncio.sleep(_SECONDS)
            ticks += 1
            if not steps:
                await plain(ticks / (ticks + 1), None, f"still at it after {ticks * _SECONDS:.0f} s")

    conversation.tell = tell
    ticks = asyncio.ensure_future(tick())
    try:
        yield
    finally:
        ticks.cancel()
        with suppress(asyncio.CancelledError):
            await ticks
