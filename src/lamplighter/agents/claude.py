"""Claude Code: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="claude",
    names=frozenset({"claude", "claude-code"}),
    packages=("@anthropic-ai/claude-code",),
    marks=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    prompt=(),
)
