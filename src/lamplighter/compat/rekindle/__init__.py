"""Compatible with rekindle's MCP server: its tools by their own names, on our operations."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice()
