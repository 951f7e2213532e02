"""How this toolset's errors read: plain text, without codes."""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code, LampError
from lamplighter.frontends.mcp.hint_words import worded

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
