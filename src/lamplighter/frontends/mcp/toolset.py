"""What a tool, a resource and a toolset are. A tool is a thin translation onto operations; no rule lives in one.

Knows schemas and texts; knows nothing of the SDK or of sockets.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from lamplighter.errors import LampError
from lamplighter.frontends.mcp.hint_words import CORE, worded
from lamplighter.frontends.mcp.schema import input_schema, output_schema
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.operation import Request, parsed

if TYPE_CHECKING:
    from lamplighter.app import App


@dataclass(frozen=True)
class Answer:
    """What a tool gives back: a structured result. Half of the clients give their model that alone, the other half the text
    alone, so the text says the same: as the toolset writes it, or as the tool does. Of a tool whose result is a text, the text
    and the facts about it."""

    structured: dict[str, Any]
    text: str | None = None


@dataclass(frozen=True)
class Hints:
    """The four annotations; each is said, and true."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool = False


READS = Hints(read_only=True, destructive=False, idempotent=True)


@dataclass(frozen=True)
class Tool:
    """`description` is what an agent reads: effect, when to use it and when another, what is destroyed and kept, who may, what
    fails. `request` forbids fields that it does not have. `result` is None for a tool whose result is a text."""

    name: str
    title: str
    description: str
    request: type[Request]
    result: type[BaseModel] | None
    run: Callable[[ToolContext, Any], Awaitable[Answer]]
    hints: Hints

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return input_schema(self.request)

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        return None if self.result is None else output_schema(self.result)

    def parse(self, arguments: dict[str, Any]) -> Request:
        """The request, or BAD_INPUT that names each argument that is wrong. An unknown one is an error, always."""
        return parsed(self.name, self.request, arguments)


@dataclass(frozen=True)
class Resource:
    """`uri` is a fixed address, or a template with {id} in it."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str = "application/json"


class Resources(Protocol):
    """What a toolset has to read. Above it the server, which knows MCP; below it the operations."""

    templates: tuple[Resource, ...]

    async def list(self, conversation: ToolContext) -> list[Resource]:
        """Those that are there now."""
        ...

    async def read(self, conversation: ToolContext, uri: str) -> tuple[str, str]:
        """Its media type and its text; NOT_FOUND when there is none."""
        ...

    def changes(self, uri: str) -> AsyncIterator[None]:
        """One item for each change, until there can be none any more."""
        ...

    def list_changes(self) -> AsyncIterator[None]:
        """One item for each change of what is there."""
        ...


def told(run: Callable[..., Any]) -> str:
    """A function's docstring as a description: paragraphs, without the line breaks of the source."""
    paragraphs = inspect.cleandoc(run.__doc__ or "").split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def as_json(structured: dict[str, Any]) -> str:
    return json.dumps(structured, ensure_ascii=False, separators=(",", ":"))


def failed(document: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A failure in both parts, for those who read JSON in the text as well."""
    return as_json(document), document


def as_text(error: LampError) -> str:
    """An error as the core says it: code, what happened, what to do next."""
    return f"{error.code}: {error.message}. Next: {error.hint}"


def _failure(error: LampError) -> tuple[str, dict[str, Any]]:
    said = worded(error, CORE)
    return as_text(said), {"error": said.document()}


@dataclass(frozen=True)
class Toolset:
    """`failure` says how an error reads; by default as the core's do. `written` makes the text of a result; by default it is the
    whole result as JSON, which scripts of other servers' users parse. `resources` makes what there is to read beside the tools.
    `implicit_approval`: its inputs have no place for the id of one, so the same call again finds what was granted. `aliases`:
    names that are not listed, and mean a tool that is. `brief`: its list leaves out what clients take for granted."""

    name: str
    title: str
    instructions: str
    tools: tuple[Tool, ...]
    failure: Callable[[LampError], tuple[str, dict[str, Any] | None]] = field(default=_failure)
    written: Callable[[dict[str, Any]], str] = field(default=as_json)
    resources: Callable[[App], Resources] | None = None
    implicit_approval: bool = False
    brief: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        known = {tool.name: tool for tool in self.tools}
        return {**known, **{alias: known[name] for alias, name in self.aliases.items()}}
