"""The kiro tools: for those who come from kiro-cli-mcp. Sixteen, with its names, inputs and codes."""

from __future__ import annotations

from lamplighter.compat.kiro import agents, chat, records, sessions, tasks
from lamplighter.compat.kiro.failures import failure
from lamplighter.compat.kiro.resources import KiroResources
from lamplighter.frontends.mcp.toolset import Toolset

_ALL = (*chat.TOOLS, *sessions.TOOLS, *records.TOOLS, *agents.TOOLS, *tasks.TOOLS)

TOOLSET = Toolset(
    name="kiro",
    title="Lamplighter for Kiro",
    instructions=(
        "Talk to kiro-cli. kiro_chat is enough for one conversation: it makes a session by itself. kiro_chat_async and "
        "kiro_task_status for long work, kiro_task_cancel to stop it. Sessions keep their conversations apart, are yours alone "
        "(10 at most), and end after 300 s without a word. kiro_session_end kills all that runs in one."
    ),
    tools=_ALL,
    failure=failure,
    resources=KiroResources,
)
