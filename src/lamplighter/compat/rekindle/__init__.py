"""Compatible with rekindle's MCP server: its tools by their own names, on our operations."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice(
    operations={
        "boot": ("boot_report",),
        "operations": ("capture_session", "list_captures", "read_capture"),
        "own_session": ("begin_guest", "hand_off_guest"),
    }
)
