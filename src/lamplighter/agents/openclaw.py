"""OpenClaw: how its processes are recognised."""

from __future__ import annotations

from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.program import Program

AGENT = Agent("openclaw", program=Program("openclaw", frozenset({"openclaw"}), packages=("openclaw",)))
