"""Codex: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="codex",
    names=frozenset({"codex"}),
    packages=("@openai/codex",),
    marks=("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
    prompt=(),
)
