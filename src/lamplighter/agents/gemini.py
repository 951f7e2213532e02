"""Gemini CLI: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="gemini",
    names=frozenset({"gemini"}),
    packages=("@google/gemini-cli",),
    marks=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    prompt=("-i",),
)
