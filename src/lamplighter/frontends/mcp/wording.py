"""Hints for whoever has only the tools. The rules below word theirs for the command line; here its words become a toolset's.

What is the operator's to run (lamp approve, lamp doctor, lamp events) stays as it is: an agent passes it on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lamplighter.errors import LampError

CORE = {
    "start": "start_session",
    "ls": "list_sessions",
    "show": "get_session",
    "send": "send_input",
    "read": "read_output",
    "wait": "wait_session",
    "end": "end_session",
    "kill": "kill_session",
    "cleanup": "cleanup_sessions",
    "handoff": "load_handoff",
}
_PHRASES = (
    (r"give one after --, as in lamp start -- bash", 'give one, as in command: ["bash"]'),
    (r"lamp start -- sh -c '…'", 'command: ["sh", "-c", "…"]'),
    (r"lamp ls --all lists", "lamp ls lists"),
    (r"lamp cleanup --apply (\S+?),", r"lamp cleanup and apply: \1,"),
    (r"lamp cleanup '([^']*)'", r'lamp cleanup with selection "\1"'),
    (r"lamp (\w+) (?=[0-9a-z]{8}\b)", r"lamp \1 of "),
    (r"--env NAME=VALUE", 'env: {"NAME": "VALUE"}'),
    (r"--force\b", "force: true"),
    (r"--(?=[a-z])", ""),
)


def worded(error: LampError, tools: Mapping[str, str], *, implicit_approval: bool = False) -> LampError:
    """The same error with a hint in the words of these tools, by command. Where inputs have no place for an approval, nobody is
    told to give one."""
    hint = error.hint
    if implicit_approval:
        hint = re.sub(r"exactly this call with approval [^;]+", "exactly this call", hint)
    for pattern, words in _PHRASES:
        hint = re.sub(pattern, words, hint)
    hint = re.sub(r"\blamp (\w+)", lambda found: tools.get(found[1], found[0]), hint)
    return type(error)(error.code, error.message, hint, **error.details)
