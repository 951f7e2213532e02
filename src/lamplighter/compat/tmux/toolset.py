"""The tmux toolset: seven tools on the user's own tmux server, its sessions called by the names that tmux has for them."""

from __future__ import annotations

from typing import Any

from lamplighter.compat.tmux.act import KILL_SESSION, NEW_SESSION, SEND_KEYS
from lamplighter.compat.tmux.see import CAPTURE_PANE, HAS_SESSION, LIST_SESSIONS, LIST_WINDOWS
from lamplighter.errors import Code, LampError
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.toolset import Toolset

_ALONE = frozenset({Code.BAD_NAME, Code.NOT_FOUND, Code.NAME_TAKEN, Code.SURVIVORS})
"""Codes whose message is this toolset's own, to the letter; nothing is added to it."""
_WORDS = {
    "start": "new_session",
    "ls": "list_sessions",
    "read": "capture_pane",
    "send": "send_keys",
    "end": "kill_session",
    "kill": "kill_session",
}


def failure(error: LampError) -> tuple[str, dict[str, Any] | None]:
    """Plain text, without codes."""
    if error.code in _ALONE:
        return error.message, None
    if error.code is Code.UNSUPPORTED:
        return "tmux is not installed here: install it, and call again", None
    request = error.details.get("request")
    if request:  # the inputs here have no place for the id of an approval, and need none
        then = "then make the same call again"
        return f"{error.message}. The operator grants it with: lamp approve {request}; {then}", None
    hint = worded(error, _WORDS, implicit_approval=True).hint
    return f"{error.message}. {hint[:1].upper()}{hint[1:]}" if hint else error.message, None


TOOLSET = Toolset(
    name="tmux",
    title="Lamplighter: tmux sessions",
    instructions=(
        "Sessions of the user's own tmux: tmux ls shows them, tmux attach enters them, and those made by hand are here too. "
        "Looking is free. You may type into and kill what you started here; anything else needs the operator's word "
        "(lamp approve), and the error says how to get it. A kill is proven: nothing that the session started is left."
    ),
    tools=(LIST_SESSIONS, HAS_SESSION, LIST_WINDOWS, CAPTURE_PANE, NEW_SESSION, SEND_KEYS, KILL_SESSION),
    failure=failure,
    implicit_approval=True,
)
