"""What an operation is: one async function with a request and a result, from which every front end is made.

The function's docstring is what agents and `--help` read. Knows nothing of sockets, terminals or MCP.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError

from lamplighter.domain.permission import Act
from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.operations.call import Call


class Request(BaseModel):
    """What a caller asks for. A field that does not exist is an error: a misspelt option must never run for real."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def to_show(self) -> dict[str, Any]:
        """What the operator is shown who has to grant it; kept until that is over."""
        return self.model_dump(mode="json")


AS_SET = "default: the setting grace"
"""In the description of what a request may leave to the setting of the same name: its default is there, and nowhere else."""


def default_of(request: type[Request], field: str) -> Any:
    """What a tool of another shape leaves to the operation below it: said there, and not a second time."""
    return request.model_fields[field].default


class Nothing(Request):
    """For an operation that takes no arguments."""


class Result(BaseModel):
    """What a caller gets back."""

    model_config = ConfigDict(frozen=True, defer_build=True, from_attributes=True)

    @classmethod
    def showing(cls, thing: object, **more: Any) -> Self:
        """As a thing of the engine says it: each field is its attribute of that name, unless it is given beside it."""
        alike = {name: getattr(thing, name) for name in cls.model_fields if name not in more and hasattr(thing, name)}
        return cls.model_validate({**alike, **more})

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
        return parsed(self.name, self.request, arguments)


def parsed(name: str, request: type[Request], arguments: dict[str, Any]) -> Request:
    """The request, or BAD_INPUT that names each argument that is wrong. An unknown one is an error, always."""
    try:
        return request.model_validate(arguments)
    except (ValidationError, RecursionError) as error:
        raise InputError(
            Code.BAD_INPUT,
            f"{name} was asked with wrong arguments: {_problems(error)}",
            f"it takes {', '.join(request.model_fields) or 'no arguments'}; nothing was done",
        ) from None


def _problems(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "they are nested too deeply"
    found = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(str(part) for part in item['loc'])[:80] or 'arguments'}: {item['msg'][:160]}" for item in found
    ]
    return "; ".join(shown[:8])


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
