"""Kiro: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="kiro",
    names=frozenset({"kiro-cli", "kiro-cli-chat"}),
    packages=(),
    marks=(),
)
