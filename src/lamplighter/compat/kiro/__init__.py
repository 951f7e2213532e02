"""Compatible with kiro-cli-mcp: its tools by their own names, on our operations. The tables are in the store's steps 3 and 10."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice(
    operations={
        "operations": (
            "create_kiro_session",
            "switch_kiro_session",
            "end_kiro_session",
            "clear_kiro_session",
            "start_kiro_turn",
            "cancel_kiro_task",
        ),
        "queries": ("list_kiro_sessions", "get_kiro_turn", "list_kiro_turns", "read_kiro_history"),
    },
    part="engine:Kiro",
    state=("kiro",),
)
