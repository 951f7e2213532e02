"""Qwen Code: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program
from lamplighter.agents.telling import Telling

PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
    prompt=("-i",),
)

TELLING = Telling(variables=("QWEN_CODE_SESSION_ID",), options=("--resume", "-r"))
