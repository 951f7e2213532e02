"""Hints for whoever has only the tools: what an error's hint names, in a toolset's words.

A command with a tool of its own becomes that tool, an option an input. What no tool does stays a command line, whole, and is
the operator's to run: an agent passes it on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lamplighter.errors import Approved, Hint, LampError, Option, Use

CORE = {
    "start": "start_session",
    "ls": "list_sessions",
    "show": "get_session",
    "lineage": "get_session",
    "send": "send_input",
    "read": "read_output",
    "wait": "wait_session",
    "end": "end_session",
    "kill": "kill_session",
    "cleanup": "cleanup_sessions",
    "scan": "scan_host",
    "handoff": "load_handoff",
    "remember": "store_records",
    "recall": "search_records",
    "records": "search_records without a query",
}
"""The tool of each command."""
CORE_INPUTS: Mapping[str, frozenset[str]] = {
    "start": frozenset({"agent", "command", "from_session", "tmux"}),
    "ls": frozenset({"selection"}),
    "send": frozenset({"session", "text", "keys"}),
    "read": frozenset({"session", "mode"}),
    "wait": frozenset({"session", "until"}),
    "cleanup": frozenset({"selection", "apply"}),
    "records": frozenset({"types"}),
}
"""Which of a hint's fields the tool has; of every other one the session alone."""
_SAME: Mapping[tuple[str, str], tuple[str, Any]] = {
    ("ls", "all"): ("selection", "all+ended"),
    ("read", "follow"): ("mode", "transcript"),
}
"""Fields that are another input of the tool."""
_SESSION = frozenset({"session"})
_PLAIN = re.compile(r"[\w./:-]+")


def worded(error: LampError, tools: Mapping[str, str], *, implicit_approval: bool = False) -> LampError:
    """The same error with a hint in the words of these tools, by command. Where inputs have no place for an approval, nobody is
    told to give one."""
    return type(error)(error.code, error.message, _said(error.advice, tools, implicit_approval), **error.details)


def _said(hint: Hint, tools: Mapping[str, str], implicit_approval: bool) -> str:
    inputs: Mapping[str, frozenset[str]] = CORE_INPUTS if tools is CORE else {}
    by_operator = any(isinstance(part, str) and "operator" in part for part in hint.parts)
    said: list[str] = []
    for part in hint.parts:
        if isinstance(part, Use):
            words = _tool(part, tools, inputs)
            said.append(words or (str(part) if by_operator else f"the operator's {part}"))
            by_operator = by_operator or words is None
        elif isinstance(part, Option):
            said.append(part.name if part.value is None else _input(part.name, part.value))
        elif not (isinstance(part, Approved) and implicit_approval):
            said.append(str(part))
    return "".join(said)


def _tool(use: Use, tools: Mapping[str, str], inputs: Mapping[str, frozenset[str]]) -> str | None:
    """The tool and its inputs; None when no tool does it."""
    tool = tools.get(use.command)
    given = dict(_SAME.get((use.command, name), (name, value)) for name, value in use.fields.items())
    if tool is None or not given.keys() <= inputs.get(use.command, _SESSION):
        return None
    if given.keys() <= _SESSION:
        return " of ".join([tool, *map(str, given.values())])
    named = ", ".join(_input(name, value) for name, value in given.items())
    return f"{tool}{',' if ' ' in tool else ''} with {named}"


def _input(name: str, value: Any) -> str:
    plain = isinstance(value, str) and _PLAIN.fullmatch(value)
    return f"{name}: {value if plain else json.dumps(value, ensure_ascii=False)}"
