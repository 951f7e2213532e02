"""What an agent tells through its hooks: when a conversation starts, a turn is over, it is about to be compacted, it ends.

The words are the same for all agents; what each calls them, and how it wants its answer, is in the agent's own module. Knows
nothing of sessions, nor of how a hook is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lamplighter.lazy_dataclass import dataclass

START, STOP, COMPACT, END = "start", "stop", "compact", "end"

STARTUP, RESUME, CLEAR, COMPACTED = "startup", "resume", "clear", "compact"
"""Why a conversation starts. What is none of these is as good as a start from nothing."""
_LONGEST = 4096
_MESSAGE = 20_000


@dataclass(frozen=True)
class HookEvent:
    """What one hook said. `source`: why it starts; `reason`: why it ends; `trigger`: who wanted the compaction; `message`: the
    last thing that was said to the user."""

    conversation: str | None = None
    transcript: str | None = None
    cwd: str | None = None
    source: str = STARTUP
    reason: str = ""
    trigger: str = ""
    message: str = ""


@dataclass(frozen=True)
class Hooks:
    """`names`: what the agent calls each event. `limit`: how many characters of context it takes at its start. `read` makes out
    what it said, `answer` is what it wants to read so that its model sees the context. `compacts_from`: below so many bytes of
    transcript nothing is compacted by itself, whatever it says."""

    agent: str
    names: Mapping[str, str]
    limit: int
    read: Callable[[dict[str, Any]], HookEvent]
    answer: Callable[[str], str]
    compacts_from: int = 0


def usual(document: dict[str, Any]) -> HookEvent:
    """As Claude Code says it; others have taken that over."""
    return HookEvent(
        conversation=word(document, "session_id"),
        transcript=word(document, "transcript_path"),
        cwd=word(document, "cwd"),
        source=word(document, "source") or STARTUP,
        reason=word(document, "reason") or "",
        trigger=word(document, "trigger") or "",
        message=word(document, "last_assistant_message", _MESSAGE) or "",
    )


def usual_answer(text: str) -> str:
    """As Claude Code wants it; others have taken that over."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})


def word(document: dict[str, Any], name: str, longest: int = _LONGEST) -> str | None:
    """A text of the document, within bounds; None when it is no text, or none that can be kept."""
    found = document.get(name)
    if not isinstance(found, str) or not found or "\0" in found:
        return None
    return found.encode("utf-8", "replace").decode()[:longest]
