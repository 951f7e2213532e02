"""The corpus of verdicts: which agent is in which situation, what a person would call that, and what the evidence must say.

One row a situation. Knows nothing of how it is brought about (`situations`). For tests only.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """`says` is a part of the evidence: the agent's own word for what went wrong, or what it waits for."""

    agent: str
    situation: str
    verdict: str
    says: str = ""


_CLAUDE = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("at a tool, headless", "working"),
    ("thinking", "working"),
    ("finished", "finished"),
    ("finished, with a job", "working", "sleep"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("question", "waiting", "Which colour?"),
    ("plan", "waiting"),
    ("trust", "waiting", "trust"),
    ("in an editor", "waiting", "vim is open"),
    ("error 500", "working", "on fire"),
    ("failed with 500", "finished", "on fire"),
    ("usage limit", "finished", "You have hit your usage limit"),
]
_CODEX = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("at a tool, headless", "working"),
    ("thinking", "working"),
    ("finished", "finished"),
    ("finished, with a job", "working", "sleep"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("refused key", "finished", "this key was taken back"),
    ("in an editor", "waiting", "vim is open"),
    ("rate limit", "working", "429 Too Many Requests"),
    ("failed with 500", "finished", "high demand"),
    ("usage limit", "finished", "429 Too Many Requests"),
]
_GEMINI = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("at a tool, headless", "working"),
    ("thinking", "working"),
    ("streaming", "working"),
    ("finished", "finished"),
    ("finished, with a job", "working", "sleep"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("question", "waiting", "Which colour?"),
    ("trust", "waiting", "trust"),
    ("a tool in an editor", "waiting", "vim is open"),
    ("refused key", "finished", "this key was taken back"),
]
_OPENCODE = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("thinking", "working"),
    ("finished", "finished"),
    ("finished, with a job", "working", "sleep"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("question", "waiting", "Which colour?"),
    ("in an editor", "waiting", "vim is open"),
    ("rate limit", "working", "slow down"),
    ("failed after a tool", "finished", "this key was taken back"),
]
_QWEN = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("thinking", "working"),
    ("finished", "finished"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("question", "waiting"),
    ("refused key", "finished", "this key was taken back"),
]
_COPILOT = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("finished", "finished"),
    ("interrupted", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("trust", "waiting", "trust"),
    ("in an editor", "waiting", "vim is open"),
    ("refused key", "finished", "Authentication failed"),
]
_PI = [
    ("at its prompt", "idle"),
    ("at a tool", "working"),
    ("finished", "finished"),
    ("in an editor", "waiting", "vim is open"),
    ("refused key", "finished", "this key was taken back"),
]
_AIDER = [
    ("at its prompt", "idle"),
    ("thinking", "working"),
    ("finished", "finished"),
    ("permission", "waiting", "permission to run: touch here"),
    ("refused key", "finished", "this key was taken back"),
]
_OF = {
    "opencode": _OPENCODE,  # which takes longest to start
    "gemini": _GEMINI,
    "claude": _CLAUDE,
    "codex": _CODEX,
    "qwen": _QWEN,
    "copilot": _COPILOT,
    "pi": _PI,
    "aider": _AIDER,
}
CORPUS = [Row(agent, *row) for agent, rows in _OF.items() for row in rows]
