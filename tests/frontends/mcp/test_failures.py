"""What a failed call returns is within the tool's own output schema: some clients check that too, and show nothing else."""

from __future__ import annotations

import jsonschema
import pytest

from lamplighter.errors import Code, LampError
from lamplighter.frontends.mcp.toolsets import TOOLSETS, load


def kinds() -> list[LampError]:
    """An error of each code, of the class that it has in life."""
    return [LampError.from_document({"code": code.value, "message": "no", "hint": "ask"}) for code in Code]


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_every_error_is_within_every_output_schema(toolset: str) -> None:
    served = load(toolset)
    for tool in served.tools:
        for error in kinds():
            structured = served.failure(error)[1]
            if structured is not None and tool.output_schema is not None:
                jsonschema.validate(structured, tool.output_schema)
