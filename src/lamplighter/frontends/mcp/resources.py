"""What there is to read beside the tools, and how a change of it is told. Knows addresses; knows nothing of the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.lazy_dataclass import dataclass


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
