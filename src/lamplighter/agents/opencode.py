"""opencode: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="opencode",
    names=frozenset({"opencode"}),
    packages=("opencode-ai",),
    marks=("OPENCODE_PID",),
    prompt=("--prompt",),
)
