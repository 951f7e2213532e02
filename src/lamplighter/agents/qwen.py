"""Qwen Code: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program
from lamplighter.agents.traces import Traces

PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
    prompt=("-i",),
)

TRACES = Traces(agent="qwen", sessions=("QWEN_CODE_SESSION_ID",))  # untested
