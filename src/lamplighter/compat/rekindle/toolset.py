"""The rekindle toolset: ten tools that hand a session's context to the next, on records, hand-offs and captures of ours."""

from __future__ import annotations

from typing import Any

from lamplighter.compat.rekindle import captures, memories, sessions
from lamplighter.errors import LampError
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.toolset import Toolset, failed

_WORDS = {
    "handoff": "boot_report",
    "end": "end_session",
    "remember": "store_memory",
    "recall": "search_memory",
    "records": "list_memories",
    "supersede": "update_memory",
    "forget": "delete_memory",
}


def failure(error: LampError) -> tuple[str, dict[str, Any]]:
    return failed({"error": worded(error, _WORDS, implicit_approval=True).document()})


TOOLSET = Toolset(
    name="rekindle",
    title="Lamplighter's rekindle tools",
    instructions=(
        "Carries what you know from one session to the next. At the start, boot_report: what the last session left, with every "
        "constraint in force. On the way, store_memory for what should last and search_memory to find it. At the end, "
        "end_session with a checkpoint: it stores what you hand over, and ends no process. capture_now keeps what your "
        "transcript says at that moment."
    ),
    tools=(*sessions.TOOLS, *memories.TOOLS, *captures.TOOLS),
    failure=failure,
    implicit_approval=True,
)
