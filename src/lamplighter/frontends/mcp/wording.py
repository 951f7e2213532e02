"""Hints for whoever has only the tools. The rules below word theirs for the command line; here its words become a toolset's.

A command with a tool of its own becomes that tool, an option an input. What no tool does stays a command line, whole, and is
the operator's to run: an agent passes it on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lamplighter.errors import LampError

CORE = {
    "start": "start_session",
    "start --tmux": "start_session with tmux: true",
    "ls": "list_sessions",
    "ls --all": 'list_sessions with selection: "all+ended"',
    "show": "get_session",
    "lineage": "get_session",
    "send": "send_input",
    "send --keys": "send_input with keys: true",
    "read": "read_output",
    "read --output": 'read_output with mode: "output"',
    "read --transcript": 'read_output with mode: "transcript"',
    "read --follow": 'read_output with mode: "transcript" of',
    "wait": "wait_session",
    "end": "end_session",
    "end --checkpoint": "end_session with checkpoint:",
    "kill": "kill_session",
    "cleanup": "cleanup_sessions",
    "cleanup --apply": "cleanup_sessions with apply:",
    "scan": "scan_host",
    "handoff": "load_handoff",
    "remember": "store_records",
    "recall": "search_records",
    "records": "search_records without a query",
    "records --type": "search_records without a query, with types:",
}
"""The tool of each command, and of it with the options that follow it at once; a value comes after that."""
_CORE_PHRASES = (
    (r"give one after --, as in lamp start -- bash", 'give one, as in command: ["bash"]'),
    (r"lamp start -- sh -c '…'", 'command: ["sh", "-c", "…"]'),
    (r"lamp start --agent (\S+) -- (\S+)", r'lamp start with agent: \1, command: ["\2"]'),
    (r"lamp start --agent (\S+) --from (\S+)", r"lamp start with agent: \1, from_session: \2"),
    (r"lamp wait (\S+) --for (\w+)", r"lamp wait with session: \1, until: \2"),
    (r"lamp send --keys (\S+) (\w+)", r"lamp send with session: \1, text: \2, keys: true"),
    (r"lamp cleanup '([^']*)'", r'lamp cleanup with selection: "\1"'),
    (r"--env NAME=VALUE", 'env: {"NAME": "VALUE"}'),
    (r"behind --(?= |;|$)", "in command"),
    (r"in front of the --(?= |;|$)", "beside command"),
)
_INPUTS = {"from": "from_session", "force": "force: true"}
_COMMAND = re.compile(
    r"\blamp (?P<words>[a-z]+(?: --[a-z-]+)*)"
    r"(?P<rest>(?: (?:[A-Z]+\b|--[a-z-]+|-- \S+|[0-9a-z]{8}\b|ap-\w+|tmux:[A-Z]+|[a-z]+,[a-z,]+))*)"
    r"|(?<![\w\"-])--(?P<option>[a-z-]+)"
)
_ID = re.compile(r" (?=[0-9a-z]{8}\b)")


def worded(error: LampError, tools: Mapping[str, str], *, implicit_approval: bool = False) -> LampError:
    """The same error with a hint in the words of these tools, by command. Where inputs have no place for an approval, nobody is
    told to give one."""
    hint = error.hint
    if implicit_approval:
        hint = re.sub(r"exactly this call with approval [^;]+", "exactly this call", hint)
    return type(error)(error.code, error.message, _said(hint, tools), **error.details)


def _said(hint: str, tools: Mapping[str, str]) -> str:
    if tools is CORE:
        for pattern, words in _CORE_PHRASES:
            hint = re.sub(pattern, words, hint)
    by_operator = "operator" in hint

    def replaced(found: re.Match[str]) -> str:
        nonlocal by_operator
        if found["option"]:
            return _INPUTS.get(found["option"], found["option"].replace("-", "_"))
        tool = tools.get(found["words"])
        if tool is not None and "--" not in found["rest"]:
            of = " of " if "--" not in found["words"] else " "
            return tool + _ID.sub(of, found["rest"], count=1)
        named, by_operator = by_operator, True
        return found[0] if named else f"the operator's {found[0]}"

    return _COMMAND.sub(replaced, hint)
