"""How errors read to users of kiro-cli-mcp: its codes, and beside them what happened and what to do next.

One table; a code that the toolset has no word for keeps ours.
"""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code, LampError
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.toolset import failed

CODES: dict[Code, str] = {
    Code.NOT_FOUND: "SESSION_NOT_FOUND",
    Code.AMBIGUOUS: "SESSION_NOT_FOUND",
    Code.TOO_MANY: "SESSION_LIMIT_REACHED",
    Code.ACTIVE: "SESSION_BUSY",
    Code.NO_SUCH_PROGRAM: "KIRO_CLI_NOT_FOUND",
    Code.TIMEOUT: "COMMAND_TIMEOUT",
    Code.ENDED: "COMMAND_FAILED",
    Code.START_FAILED: "COMMAND_FAILED",
    Code.SURVIVORS: "COMMAND_FAILED",
    Code.OUTCOME_UNKNOWN: "COMMAND_FAILED",
    Code.HOLDER_UNREACHABLE: "COMMAND_FAILED",
}
_WORDS = {
    "start": "kiro_session_create",
    "ls": "kiro_session_list",
    "show": "kiro_session_list",
    "send": "kiro_chat",
    "read": "kiro_history",
    "end": "kiro_session_end",
    "kill": "kiro_session_end",
}
_FIELDS = {"message": "INVALID_MESSAGE", "command": "INVALID_COMMAND"}


def code_of(error: LampError) -> str:
    if error.code is Code.BAD_INPUT:
        return _FIELDS.get(str(error.details.get("field")), error.code.value)
    if error.code is Code.NOT_FOUND and "task_id" in error.details:
        return error.code.value
    return CODES.get(error.code, error.code.value)


def failure(error: LampError) -> tuple[str, dict[str, Any]]:
    return failed({"error": {**worded(error, _WORDS, implicit_approval=True).document(), "code": code_of(error)}})
