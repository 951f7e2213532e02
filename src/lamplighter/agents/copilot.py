"""Copilot CLI: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="copilot",
    names=frozenset({"copilot"}),
    packages=("@github/copilot",),
    marks=(),
)
