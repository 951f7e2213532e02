"""What the conformance suite asks for and ours has the like of, as a toolset of ours: a text, an error, progress, resources.

Knows the names and texts that the suite asks for; what it is to be a tool stands in `lamplighter.frontends.mcp`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import ClassVar

from pydantic import BaseModel

from lamplighter.errors import Code, InputError, MissingError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Resource, Tool, Toolset
from lamplighter.operations.operation import Request


class Nothing(Request):
    """No arguments."""


class Said(BaseModel):
    said: str


async def simple_text(_: ToolContext, __: Nothing) -> Answer:
    text = "This is a simple text response for testing."
    return Answer({"said": text}, text)


async def error_handling(_: ToolContext, __: Nothing) -> Answer:
    raise InputError(Code.BAD_INPUT, "This tool intentionally returns an error for testing", "expect it")


async def with_progress(conversation: ToolContext, _: Nothing) -> Answer:
    for done in (0, 50, 100):
        await conversation.tell(done, 100, f"{done} of 100")
    return Answer({"said": "done"}, "done")


class Texts:
    """Resources of ours: texts at fixed addresses, and one for each id. None of them ever changes."""

    templates = (Resource("test://template/{id}/data", "template", "Template", "one for each id"),)
    _texts: ClassVar = {
        "test://static-text": "This is the content of the static text resource.",
        "test://watched-resource": "Somebody looks at this.",
    }

    async def list(self, _: ToolContext) -> list[Resource]:
        return [Resource(uri, uri, uri, "to be read", "text/plain") for uri in self._texts]

    async def read(self, _: ToolContext, uri: str) -> tuple[str, str]:
        if uri in self._texts:
            return "text/plain", self._texts[uri]
        if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
            number = found[1]
            return "application/json", json.dumps(
                {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
            )
        raise MissingError(Code.NOT_FOUND, f"there is no {uri}", "list them")

    async def changes(self, uri: str) -> AsyncIterator[None]:
        for never in ():
            yield never

    async def list_changes(self) -> AsyncIterator[None]:
        for never in ():
            yield never


TOOLSET = Toolset(
    name="everything",
    title="Everything that the conformance suite asks for",
    instructions="For the conformance suite.",
    tools=tuple(
        Tool(name, name, "For the conformance suite.", Nothing, Said, run, READS)
        for name, run in {
            "test_simple_text": simple_text,
            "test_error_handling": error_handling,
            "test_tool_with_progress": with_progress,
        }.items()
    ),
    resources=lambda _: Texts(),
)
