"""What a request of an agent comes down to, and what an answer is, whatever API they are written in.

Knows how agents put words of their own into their user's messages: those are not what the user has said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

INPUT_TOKENS = 100
OUTPUT_TOKENS = 10
TOOLLESS = "toolless"
"""The model of an agent that offers no tools: whatever it asks this one is a turn of its user's."""

_ADDED = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "<session_context>",
    "<local-command",
    "<command-name>",
    "<command-message>",
    "# AGENTS.md instructions",
    "This is the Gemini CLI. We are setting up the context",
    "This session is being continued from a previous conversation",
    "[Request interrupted by user",
    "Please continue.",
)
_SUMMARIES = (
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "[SUGGESTION MODE: ",
    "Managed memory has ",
)
_BEFORE = re.compile(r"\A\s*<current_datetime>[^<]*</current_datetime>\s*")
"""What Copilot puts in front of the words."""


@dataclass(frozen=True)
class Asked:
    """`said` is all that the user has said in this conversation; `results`, what came back from tools since the last of it."""

    conversation: str
    said: tuple[str, ...]
    results: tuple[str, ...]
    tools: tuple[str, ...]
    waited: bool = False
    """It has been told to wait for its servers (Claude) in this turn."""
    toolless: bool = False

    @property
    def aside(self) -> bool:
        """Not a turn of its user's: a title, a summary, what its user may type next, a look whether the model is there. None of
        these offers tools, but for summaries and guesses, which say what they are."""
        return not (self.tools or self.toolless) or not self.said or self.said[-1].startswith(_SUMMARIES)


@dataclass(frozen=True)
class Use:
    """A call of one of the tools that the agent has offered, by the name that it has there."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """The request is refused with this status, in this text; `headers` go with it."""

    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = ()


Answer = Use | Iterator[str]
"""A tool to use, or a text in pieces, which come when they come."""


def own_words(texts: Iterable[str]) -> str:
    """What of one message its user has written."""
    own = (_BEFORE.sub("", text) for text in texts)
    return "\n".join(text for text in own if text.strip() and not text.lstrip().startswith(_ADDED)).strip()
