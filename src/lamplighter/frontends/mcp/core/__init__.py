"""The core tools: nine, made from the operations of the same names."""

from __future__ import annotations

from lamplighter.frontends.mcp.core.seeing import LIST_SESSIONS
from lamplighter.frontends.mcp.toolset import Toolset

TOOLSET = Toolset(
    name="core",
    title="Lamplighter",
    instructions="",
    tools=(LIST_SESSIONS,),
)
