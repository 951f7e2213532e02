"""OpenClaw: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="openclaw",
    names=frozenset({"openclaw"}),
    packages=("openclaw",),
    marks=(),
)
