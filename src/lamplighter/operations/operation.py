"""What an operation is: one async function with a request and a result, from which every front end is made.

The function's docstring is what agents and `--help` read. Knows nothing of sockets, terminals or MCP.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from lamplighter.domain.permission import Act
from lamplighter.errors import Code, InputError

if TYPE_CHECKING:
    from lamplighter.operations.call import Call


class Request(BaseModel):
    """What a caller asks for. A field that does not exist is an error: a misspelt option must never run for real."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Nothing(Request):
    """For an operation that takes no arguments."""


class Result(BaseModel):
    """What a caller gets back."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def to_keep(self) -> Result:
        """What a repeated key gets: the same, but for what must not be stored."""
        return self


type_of_run = Callable[["Call", Any], Awaitable[Result]]


@dataclass(frozen=True)
class Operation:
    """One capability. `command` is its name on the command line, `group` where `--help` lists it, `act` what it amounts to."""

    name: str
    run: type_of_run
    request: type[Request]
    result: type[Result]
    command: str | None
    group: str
    positional: tuple[str, ...]
    changes: bool
    act: Act

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")

    def parse(self, arguments: dict[str, Any]) -> Request:
        """The request, or BAD_INPUT that names each field that is wrong."""
        try:
            return self.request.model_validate(arguments)
        except ValidationError as error:
            problems = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
            raise InputError(
                Code.BAD_INPUT,
                f"{self.name} was asked with wrong arguments: {'; '.join(problems)[:500]}",
                f"it takes {', '.join(self.request.model_fields)}",
            ) from None


OPERATIONS: dict[str, Operation] = {}


def operation(
    *,
    command: str | None,
    group: str,
    positional: tuple[str, ...] = (),
    changes: bool = False,
    act: Act = Act.READ,
) -> Callable[[type_of_run], type_of_run]:
    """Registers a function as an operation. One with `changes` has an idempotency key and leaves an event."""

    def register(run: type_of_run) -> type_of_run:
        hints = get_type_hints(run, localns=_LATE)
        request = hints[list(inspect.signature(run).parameters)[1]]
        name = run.__name__
        OPERATIONS[name] = Operation(name, run, request, hints["return"], command, group, positional, changes, act)
        return run

    return register


_LATE: dict[str, Any] = {"Call": Any}
