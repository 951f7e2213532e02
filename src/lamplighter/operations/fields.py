"""What several requests and results have in common: each of these fields has its words here, and nowhere a second time."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

HIDDEN: dict[str, Any] = {"hidden": True}
"""On a field that is no option of a command and no argument of a tool: a front end fills it in."""

SessionWord = Annotated[str, Field(description="id, unique prefix of an id, or name")]
Approval = Annotated[
    str | None,
    Field(max_length=100, description="request id from APPROVAL_NEEDED, once the operator has granted it"),
]
ProjectWord = Annotated[
    str | None,
    Field(min_length=1, max_length=1000, description="project: its name, identity or folder (default: the caller's)"),
]
Folder = Annotated[str | None, Field(max_length=4096, description="where the caller is", json_schema_extra=HIDDEN)]
Environment = Annotated[dict[str, str] | None, Field(description="the caller's environment", json_schema_extra=HIDDEN)]

Redacted = Annotated[int, Field(description="secrets that were taken out before anything was stored")]
Withheld = Annotated[int, Field(description="private passages that were not stored")]
