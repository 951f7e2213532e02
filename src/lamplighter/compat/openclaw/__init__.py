"""Compatible with openclaw's MCP server: its tools by their own names, on our operations."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice(
    operations={
        "operations": ("list_openclaw_sessions", "find_openclaw_session", "retire_sessions"),
        "spawn": ("spawn_agent",),
    }
)
