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
    "grace": "from TERM to KILL: 30s, 0; default: 5s, unless configured",
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
    """`changes` are fields that read otherwise over MCP, or are there over MCP alone: (type, Field). They come first."""
    kept: dict[str, Any] = {
        field: (operation.model_fields[field].annotation, _described(field, copy(operation.model_fields[field])))
        for field in fields
        if field in operation.model_fields
    }
    return create_model(name, __base__=Request, **{**changes, **kept})


def _described(name: str, field: FieldInfo) -> FieldInfo:
    field.description = _SHORT.get(name, field.description)
    return field


def given(request: Request) -> dict[str, Any]:
    """The arguments as the operation takes them."""
    return request.model_dump(mode="json")
