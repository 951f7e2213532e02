"""The kiro resources: kiro://sessions, kiro://agents and kiro://config."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from lamplighter.compat.kiro import program
from lamplighter.compat.kiro.agents import known
from lamplighter.compat.kiro.checks import environment_of, find_program
from lamplighter.compat.kiro.engine import kiro_of
from lamplighter.compat.kiro.model import LONGEST_MESSAGE
from lamplighter.compat.kiro.sessions import listed
from lamplighter.compat.kiro.settings import kiro_settings
from lamplighter.errors import Code, LampError, MissingError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Resource
from lamplighter.operations.operation import Nothing

if TYPE_CHECKING:
    from lamplighter.app import App

_ALL = [
    Resource(
        "kiro://agents", "agents", "Kiro agents", "The agents that kiro-cli knows, as kiro_agents_list gives them"
    ),
    Resource("kiro://config", "config", "Kiro configuration", "Limits, and which kiro-cli is run and how"),
    Resource("kiro://sessions", "sessions", "Kiro sessions", "Your open sessions, as kiro_session_list gives them"),
]


class KiroResources:
    templates: tuple[Resource, ...] = ()

    def __init__(self, app: App) -> None:
        self.app = app

    async def list(self, conversation: ToolContext) -> list[Resource]:
        del conversation
        return _ALL

    async def read(self, conversation: ToolContext, uri: str) -> tuple[str, str]:
        if uri == "kiro://sessions":
            found = (await listed(conversation, Nothing())).structured
        elif uri == "kiro://agents":
            agents = await known(conversation)
            found = {"agents": agents, "count": len(agents)}
        elif uri == "kiro://config":
            found = _config(conversation)
        else:
            hint = f"there are {', '.join(one.uri for one in _ALL)}"
            raise MissingError(Code.NOT_FOUND, f"there is nothing at {uri[:80]!a}", hint)
        return "application/json", json.dumps(found, ensure_ascii=False)

    def changes(self, uri: str) -> AsyncIterator[None]:
        """Sessions come and go; the rest is looked up when it is read."""
        return kiro_of(self.app).session_changes() if uri == "kiro://sessions" else self.list_changes()

    async def list_changes(self) -> AsyncIterator[None]:
        """Always the same three."""
        for never in ():
            yield never


def _config(conversation: ToolContext) -> dict[str, Any]:
    environment = environment_of(conversation.client.environment)
    settings = kiro_settings(environment)
    try:
        path = find_program(environment, settings)
    except LampError:
        path = None
    agent, model = settings.default_agent, settings.default_model
    return {
        "kiro_cli": path,
        "command": program.chat(agent, resume=True, model=model, command=settings.cli_path),
        "kiro_cli_path": settings.cli_path,
        "default_model": model,
        "default_agent": agent,
        "working_directory": settings.working_directory,
        "max_sessions": settings.max_sessions,
        "max_async_tasks": settings.max_async_tasks,
        "session_timeout": settings.session_timeout,
        "command_timeout": settings.command_timeout,
        "kill_grace_seconds": conversation.app.settings.grace,
        "max_message_bytes": LONGEST_MESSAGE,
        "pool_enabled": False,
    }
