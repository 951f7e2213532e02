"""Qwen Code: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program

PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
    prompt=("-i",),
)
