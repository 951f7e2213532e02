"""One call of a tool: who asks, from where, the way from it to the operations, and signs of life while it takes long.

Knows callers and keys; knows nothing of the SDK or of sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from lamplighter.domain.permission import Caller
from lamplighter.frontends.calls import answered
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.app import App

_TICK_SECONDS = 5.0


@dataclass(frozen=True)
class McpClient:
    """Whoever is at the other end of a connection. `cwd` and `environment` are what sessions that it starts begin with, where
    they are known; `gone` is set when it has left. `can_be_asked`: an elicitation reaches a person, not an agent."""

    caller: Caller
    cwd: str | None
    environment: dict[str, str] | None
    gone: asyncio.Event
    can_be_asked: bool = False


async def _nothing(_done: float, _total: float | None, _message: str) -> None:
    return


@dataclass
class ToolContext:
    """`key` makes each change of this call happen once, also when the call is repeated after a break."""

    app: App
    client: McpClient
    key: str
    tell: Callable[[float, float | None, str], Awaitable[None]] = field(default=_nothing)
    implicit_approval: bool = False  # for toolsets whose inputs have no place for the id of one

    @property
    def caller(self) -> Caller:
        return self.client.caller

    async def operate(
        self,
        operation: str,
        *,
        part: str = "",
        each: Callable[[dict[str, Any]], Awaitable[None]] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """The result of an operation, as every front end gets it. A tool that changes more than one thing names each `part`,
        always the same way. Arguments that are None are left to their defaults; `each` takes what comes on the way."""

        async def emit(item: BaseModel) -> None:
            if each is not None:
                await each(item.model_dump(mode="json"))

        key = f"{self.key}/{part}" if part else self.key
        given = {name: value for name, value in arguments.items() if value is not None}
        async with answered(
            self.app,
            self.caller,
            operation,
            given,
            key=key,
            gone=self.client.gone,
            emit=emit,
            implicit_approval=self.implicit_approval,
        ) as answer:
            return answer.document()


@asynccontextmanager
async def ticking(conversation: ToolContext) -> AsyncGenerator[None]:
    """A word every few seconds, as many clients give up on a call that says nothing, until the call has steps of its own to tell.
    It counts for less than the first step, whenever that comes: what is told must never run backwards."""
    plain = conversation.tell
    steps = False

    async def tell(done: float, total: float | None, message: str) -> None:
        nonlocal steps
        steps = True
        await plain(done, total, message)

    async def tick() -> None:
        ticks = 0
        while not steps:
            await asyncio.sleep(_TICK_SECONDS)
            ticks += 1
            if not steps:
                await plain(ticks / (ticks + 1), None, f"still at it after {ticks * _TICK_SECONDS:.0f} s")

    conversation.tell = tell
    ticks = asyncio.ensure_future(tick())
    try:
        yield
    finally:
        ticks.cancel()
        with suppress(asyncio.CancelledError):
            await ticks
