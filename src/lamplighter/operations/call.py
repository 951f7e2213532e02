"""One call of an operation: who asks, with which key, and how what comes back in parts is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from lamplighter.domain.permission import Caller

if TYPE_CHECKING:
    from lamplighter.app import App


@dataclass
class Call:
    """`repeated`: the key was claimed before, and what came of that is not known to the store."""

    app: App
    caller: Caller
    key: str
    emit: Callable[[BaseModel], Awaitable[None]]
    gone: asyncio.Event
    repeated: bool = False
    descriptors: list[int] = field(default_factory=list[int])
    acts: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def afterwards(self, act: Callable[[], None]) -> None:
        """Done once the answer is sent, or cannot be."""
        self.acts.append(act)

    def pass_descriptor(self, descriptor: int) -> None:
        """The front end sends it along with the result, and closes it here."""
        self.descriptors.append(descriptor)
