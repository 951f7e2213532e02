"""The openclaw toolset: its four session tools, and the two that its users asked for, as translations onto the operations."""

from __future__ import annotations

from typing import Any

from lamplighter.compat.openclaw.end import CLEANUP, KILL
from lamplighter.compat.openclaw.see import HISTORY, LIST
from lamplighter.compat.openclaw.talk import SEND, SPAWN
from lamplighter.errors import Code, ForbiddenError, LampError
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.toolset import Toolset, failed

_WORDS = {
    "start": "sessions_spawn",
    "ls": "sessions_list",
    "show": "sessions_list",
    "send": "sessions_send",
    "read": "sessions_history",
    "end": "sessions_kill",
    "kill": "sessions_kill",
    "cleanup": "sessions_cleanup",
}


def failure(error: LampError) -> tuple[str, dict[str, Any]]:
    """With openclaw's status beside the error: forbidden for what is not the caller's, timeout, else error."""
    status = "forbidden" if isinstance(error, ForbiddenError) else "timeout" if error.code is Code.TIMEOUT else "error"
    said = worded(error, _WORDS, implicit_approval=True)
    return failed({"status": status, "error": said.document()})


TOOLSET = Toolset(
    name="openclaw",
    title="Lamplighter's openclaw tools",
    instructions=(
        "Sessions of agents on this machine. sessions_list gives keys; sessions_spawn starts a sub-agent, sessions_send talks to "
        "it, sessions_history reads it; sessions_kill ends one and sessions_cleanup many, with every process that they started. "
        "You act on your own sessions; anybody else's needs the operator."
    ),
    tools=(LIST, HISTORY, SEND, SPAWN, KILL, CLEANUP),
    failure=failure,
    implicit_approval=True,
)
