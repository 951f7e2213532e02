"""The one place where a front end's call becomes an answer: values inside the process, text only at the edge.

Knows operations and what is sent beside a result; knows nothing of sockets, HTTP or MCP.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from lamplighter.errors import LampError, fault_of
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.call import Call

if TYPE_CHECKING:
    import asyncio

    from pydantic import BaseModel

    from lamplighter.app import App
    from lamplighter.domain.permission import Caller
    from lamplighter.operations.execution import CallResult
    from lamplighter.operations.operation import Result

log = logging.getLogger(__name__)
R = TypeVar("R", bound="Result")


@dataclass(frozen=True)
class CallAnswer:
    """A result or an error, and the descriptors that go with it."""

    outcome: CallResult | LampError
    descriptors: list[int] = field(default_factory=list[int])

    def document(self) -> dict[str, Any]:
        """The result as a document; the error is raised."""
        if isinstance(self.outcome, LampError):
            raise self.outcome
        return self.outcome.document()

    def result(self, kind: type[R]) -> R:
        """The result as a value; the error is raised."""
        if isinstance(self.outcome, LampError):
            raise self.outcome
        return self.outcome.as_a(kind)

    def member(self) -> str:
        """`"result":{…}` or `"error":{…}`, for the JSON object that a front end sends."""
        if isinstance(self.outcome, LampError):
            return _error(self.outcome)
        try:
            return f'"result":{self.outcome.json()}'
        except ValueError as error:  # a text in it that cannot be written as UTF-8
            return _error(expected(error))


def _error(error: LampError) -> str:
    return f'"error":{json.dumps(error.document(), separators=(",", ":"))}'


class CallerGoneError(OSError):
    """Whoever asked has left, so there is nobody to answer. What else the system refuses is a fault inside, and is answered."""


async def ignore(_: BaseModel) -> None:
    """For a caller that wants the result alone, and nothing that comes on the way."""


@asynccontextmanager
async def answered(
    app: App,
    caller: Caller,
    name: str,
    arguments: dict[str, Any],
    *,
    key: str,
    gone: asyncio.Event,
    emit: Callable[[BaseModel], Awaitable[None]] = ignore,
    implicit_approval: bool = False,
) -> AsyncGenerator[CallAnswer]:
    """The answer, for as long as it takes to send it. Then its descriptors are closed, and what is to come afterwards comes."""
    call = Call(app, caller, key, emit, gone, implicit_approval=implicit_approval)
    try:
        try:
            outcome: CallResult | LampError = await app.execution.execute(name, arguments, call)
        except CallerGoneError:
            raise
        except Exception as error:
            outcome = expected(error)
        yield CallAnswer(outcome, call.descriptors)
    finally:
        for descriptor in call.descriptors:
            os.close(descriptor)
        for act in call.acts:
            act()


def expected(error: Exception, what: str = "a call") -> LampError:
    """The error as a caller is told of it. One that nobody expected is in the log."""
    if isinstance(error, LampError):
        return error
    log.error("%s failed", what, exc_info=error)
    return fault_of(error)
