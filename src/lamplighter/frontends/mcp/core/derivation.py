"""A tool's request made from its operation's: the fields that a client may give, each as the operation describes it."""

from __future__ import annotations

from copy import copy
from typing import Any

from pydantic import create_model
from pydantic.fields import FieldInfo

from lamplighter.operations.operation import Request

SESSION = "id or name"
APPROVAL = "granted id of APPROVAL_NEEDED"
_SHORT = {
    "session": SESSION,
    "approval": APPROVAL,
    "grace": "from TERM to KILL: 30s, 0; default: the setting, 5s",
    "reason": "why; stored",
    "text": "with keys: names, with spaces between: Up C-c Enter F5",
    "enter": "Enter after the text; never after keys",
    "force": "also working, waiting, unknown ones",
    "selection": "as list_sessions has it",
    "apply": "id of the plan to carry out",
    "offset": "skip this many: the next page",
    "budget": "UTF-8 bytes at most",
}
"""What agents read in every list: shorter than for people."""


def derived(name: str, operation: type[Request], /, *fields: str, **changes: Any) -> type[Request]:
    """The operation's `fields` as they are, and `changes`, which come first: a text for a field that reads otherwise over MCP,
    and (type, Field) for one that is another there."""
    made: dict[str, Any] = {
        field: _reworded(operation, field, change) if isinstance(change, str) else change
        for field, change in changes.items()
    }
    made |= {field: _described(operation, field) for field in fields}
    return create_model(name, __base__=Request, **made)


def _described(operation: type[Request], name: str) -> tuple[Any, FieldInfo]:
    field = copy(operation.model_fields[name])
    field.description = _SHORT.get(name, field.description)
    return field.annotation, field


def _reworded(operation: type[Request], name: str, text: str) -> tuple[Any, FieldInfo]:
    """Without its bounds, which every agent would read: whoever passes one is told so by the operation."""
    field = copy(operation.model_fields[name])
    field.description, field.metadata = text, []
    return field.annotation, field


def given(request: Request) -> dict[str, Any]:
    """The arguments as the operation takes them."""
    return request.model_dump(mode="json")
