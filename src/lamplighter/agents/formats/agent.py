"""All that is known of one agent program: each module in `agents/` has one of these, under the name AGENT.

Data and small functions. Every part may be missing, and what needs it passes that agent over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.agents.formats.acp import AcpCommand
    from lamplighter.agents.formats.fingerprints import Fingerprints
    from lamplighter.agents.formats.hooks import Hooks
    from lamplighter.agents.formats.program import Program
    from lamplighter.agents.formats.screen_patterns import ScreenPatterns
    from lamplighter.agents.formats.setup import Setup
    from lamplighter.agents.formats.shared_daemon import SharedDaemon
    from lamplighter.agents.formats.transcript import Format
    from lamplighter.domain.agent_command import AgentCommand


@dataclass(frozen=True)
class Agent:
    """`name` is the module's own. `program`: how its processes are recognised; `start`: how it is started and resumed; `acp`: how
    it is started to speak the Agent Client Protocol; `screens`: what they say, and how it is asked to leave; `transcripts`: where
    they are and how they are read; `hooks`: what it tells of itself; `setup`: where its configuration has MCP servers and
    hooks; `fingerprints`: what it leaves on a machine; `shared_daemon`: the one that several of its conversations share."""

    name: str
    program: Program | None = None
    start: AgentCommand | None = None
    acp: AcpCommand | None = None
    screens: ScreenPatterns | None = None
    transcripts: Format | None = None
    hooks: Hooks | None = None
    setup: Setup | None = None
    fingerprints: Fingerprints | None = None
    shared_daemon: SharedDaemon | None = None
