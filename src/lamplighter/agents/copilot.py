"""Copilot CLI: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.program import Program
from lamplighter.agents.traces import Traces

PROGRAM = Program(
    name="copilot",
    names=frozenset({"copilot"}),
    packages=("@github/copilot",),
    marks=(),
)

TRACES = Traces(agent="copilot")  # untested: no mark of it is known
