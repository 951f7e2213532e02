"""kiro_agents_list: what kiro-cli and its files say of agents."""

from __future__ import annotations

import asyncio
from typing import Any

from lamplighter.compat.kiro import program
from lamplighter.compat.kiro.checks import environment_of, find_program
from lamplighter.compat.kiro.settings import kiro_settings
from lamplighter.errors import Code, ConflictError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool
from lamplighter.operations.operation import Nothing, Result


class Agent(Result):
    name: str
    description: str
    config_path: str


class Agents(Result):
    agents: list[Agent]
    count: int


async def listed(conversation: ToolContext, _: Nothing) -> Answer:
    rows = await known(conversation)
    return Answer({"agents": rows, "count": len(rows)})


async def known(conversation: ToolContext) -> list[dict[str, Any]]:
    """Those of the active session's folder, or of the client's own."""
    environment = environment_of(conversation.client.environment)
    settings = kiro_settings(environment)
    find_program(environment, settings)
    sessions = await conversation.operate("list_kiro_sessions")
    folder = next((one["working_directory"] for one in sessions["sessions"] if one["is_active"]), None)
    folder = folder or conversation.client.cwd or environment.get("HOME", "/")
    started = await conversation.operate(
        "start_session",
        command=[settings.cli_path, "agent", "list"],
        cwd=folder,
        environment=environment,
        headless=True,
        max_age="60s",
        part="agents",
    )
    ended = await conversation.operate("wait_session", session=started["id"])
    printed = await conversation.operate("read_output", session=started["id"], mode="output", since=0)
    if ended["exit"] != {"code": 0}:
        raise ConflictError(
            Code.ENDED,
            "kiro-cli agent list failed",
            "the details have what it printed",
            output=printed["text"][:2000],
            exit=ended["exit"],
        )
    found = await asyncio.to_thread(program.agents, printed["text"], folder, environment)
    return [agent._asdict() for agent in found]


TOOLS = (
    Tool(
        "kiro_agents_list",
        "List Kiro agents",
        "List the agents that kiro-cli knows in the active session's folder, with the description and the file of each where it "
        "has one. Give a name to kiro_session_create as agent. Changes nothing, but runs kiro-cli agent list: "
        "KIRO_CLI_NOT_FOUND or COMMAND_FAILED when it cannot.",
        Nothing,
        Agents,
        listed,
        Hints(read_only=True, destructive=False, idempotent=True, open_world=True),
    ),
)
