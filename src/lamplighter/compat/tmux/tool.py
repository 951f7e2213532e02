"""What the seven tools have in common: tmux is looked for first, then the name is checked, and only then the rest."""

from __future__ import annotations

import os
import re
from typing import Any

from pydantic import Field

from lamplighter.engine.backends.tmux.server import TmuxServer, server_for, tmux_program
from lamplighter.errors import Code, InputError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Tool
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.operation import Request

LONGEST = 100
_UNFIT = re.compile(r"[.:|\s]")


class Nameless(Request):
    pass


class ByName(Request):
    name: str = Field(
        description="the session's name as tmux ls shows it, matched exactly",
        json_schema_extra={"minLength": 1, "maxLength": LONGEST, "pattern": r"^[^.:|\s]+$"},
    )


@dataclass(frozen=True)
class TmuxTool(Tool):
    def parse(self, arguments: dict[str, Any]) -> Request:
        tmux_program()
        if "name" in self.request.model_fields:
            check_name(arguments.get("name"))
        return super().parse(arguments)


def check_name(name: object) -> None:
    """BAD_NAME, in the words that this toolset has for it."""
    if not isinstance(name, str) or not name:
        raise _bad("name is required (non-empty string)")
    if len(name) > LONGEST:
        raise _bad(f"name too long (max {LONGEST})")
    if _UNFIT.search(name):
        raise _bad("name cannot contain '.', ':', '|', or whitespace")


def check_new_name(name: str) -> None:
    """Also what tmux itself would keep under another name, so that nobody could find it by this one."""
    if any(character in "\\$" or not character.isprintable() for character in name):
        raise _bad(
            "a new session's name cannot contain '\\', '$' or characters that cannot be printed: tmux changes them"
        )


def _bad(message: str) -> InputError:
    return InputError(Code.BAD_NAME, message, "")


def server_of(conversation: ToolContext) -> TmuxServer:
    """The server that a tmux command of the client would speak to; over HTTP, one of the daemon."""
    return server_for(conversation.client.environment or os.environ)
