"""Qwen Code: how its processes are recognised and it is started. Never tried with the program itself."""

from __future__ import annotations

from lamplighter.agents.program import Program
from lamplighter.agents.traces import Traces
from lamplighter.domain.manner import Manner, Way

PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
)

STARTING = Manner(
    agent="qwen",
    program=("qwen",),
    package="@qwen-code/qwen-code",
    terminal=Way(
        resume=("--resume", "{conversation}"), last=("--continue",), prompt=("--prompt-interactive={prompt}",)
    ),
    headless=Way(
        new=("-o", "stream-json"),
        resume=("-o", "stream-json", "--resume", "{conversation}"),
        last=("-o", "stream-json", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
    untested=True,
)

TRACES = Traces(agent="qwen", sessions=("QWEN_CODE_SESSION_ID",), options=("--resume", "-r"))  # untested
