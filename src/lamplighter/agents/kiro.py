"""Kiro: how its processes are recognised, and how it is started."""

from __future__ import annotations

from lamplighter.agents.formats.acp import AcpCommand
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.program import Program
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="kiro",
    names=frozenset({"kiro-cli", "kiro-cli-chat"}),
)

_START = AgentCommand(
    agent="kiro",
    program=("kiro-cli",),
    terminal=Mode(
        new=("chat",),
        resume=("chat", "--resume-id", "{conversation}"),
        last=("chat", "--resume"),
        prompt=("--", "{prompt}"),
    ),
    headless=Mode(
        new=("chat", "--no-interactive"),
        resume=("chat", "--no-interactive", "--resume-id", "{conversation}"),
        last=("chat", "--no-interactive", "--resume"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    untested=True,
)
_FINGERPRINTS = Fingerprints(agent="kiro")  # what it marks is not known: nothing was seen of the real program
_ACP = AcpCommand(command=("kiro-cli", "acp"), untested=True)


AGENT = Agent(
    name="kiro",
    program=_PROGRAM,
    start=_START,
    acp=_ACP,
    fingerprints=_FINGERPRINTS,
)
