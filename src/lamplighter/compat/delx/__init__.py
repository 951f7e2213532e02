"""Compatible with delx's MCP server: its tools by their own names, on our operations."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice(
    operations={
        "logical": ("start_logical", "get_logical", "close_logical"),
        "operations": ("resume_logical", "hand_over"),
    },
    part="engine:Resumption",
)
