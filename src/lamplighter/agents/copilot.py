"""Copilot CLI: how its processes are recognised and it is started. Never tried with the program itself."""

from __future__ import annotations

from lamplighter.agents.program import Program
from lamplighter.domain.manner import Manner, Way

PROGRAM = Program(
    name="copilot",
    names=frozenset({"copilot"}),
    packages=("@github/copilot",),
    marks=(),
)

STARTING = Manner(
    agent="copilot",
    program=("copilot",),
    package="@github/copilot",
    terminal=Way(resume=("--resume={conversation}",), last=("--continue",), prompt=("--interactive={prompt}",)),
    headless=Way(
        new=("--output-format", "json"),
        resume=("--output-format", "json", "--resume={conversation}"),
        last=("--output-format", "json", "--continue"),
        prompt=("--prompt={prompt}",),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    untested=True,
)
