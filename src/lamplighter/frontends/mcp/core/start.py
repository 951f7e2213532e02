"""start_session."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from lamplighter.frontends.mcp.core.derivation import derived, given
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.operation import Request, Result
from lamplighter.operations.start import StartSession

StartTool = derived(
    "StartTool",
    StartSession,
    command="program and arguments; with agent: arguments added to it",
    agent="claude, codex, gemini…; needed by prompt, resume and model",
    prompt="the agent's first prompt",
    resume="conversation to continue, not a new one: its id, a session, or last",
    model="the agent's model",
    headless="without a terminal, on pipes",
    tmux="in a window of the user's tmux",
    keep_children="its child processes may outlive it",
    kind=(Literal["task", "subagent", "cron"], Field(default="task", description="for selections and default limits")),
    cwd="absolute; default: yours",
    name="unique among living sessions; default: from the command",
    project="default: that of cwd",
    idle_limit="end it when quiet this long: 30m, 8h",
    max_age="end it at this age: 2h, 3d",
    max_memory="end it above this: 500M, 2G",
    from_session="whose hand-off it gets: id, name, or last",
    env="added to your variables",
)


class SessionStarted(Result):
    id: str
    name: str
    state: str
    pid: int


async def start_session(conversation: ToolContext, request: Request) -> Answer:
    """Start a program or another agent as a new session that is yours. Returns its id as soon as the program runs.

    Use it for work beside yours: agents, servers, long builds. To type into a session use send_input; for a short command your
    shell. Give command, agent or both. Its child processes end with it, unless keep_children. It runs without a shell (for pipes:
    ["sh", "-c", "…"]), as your user, in a terminal unless headless or tmux. With from_session the hand-off is in the file
    $LAMPLIGHTER_HANDOFF, is added to an agent's prompt and replaces {handoff} in command.

    When it fails nothing is started: NO_SUCH_PROGRAM, NO_SUCH_FOLDER, NAME_TAKEN, TOO_MANY, START_FAILED; from_session: SUCCEEDED
    (another took it), NO_SUCCESSOR.
    """
    arguments = given(request)
    arguments["cwd"] = arguments["cwd"] or conversation.client.cwd
    found = await conversation.operate(
        "start_session", environment=conversation.client.environment or _plain(), **arguments
    )
    return Answer({name: found[name] for name in (*SessionStarted.model_fields, "parent")})


def _plain() -> dict[str, str]:
    """For a client whose environment is not known: what a program needs at least."""
    wanted = ("PATH", "HOME", "LANG", "USER", "SHELL", "TMPDIR")
    return {name: os.environ[name] for name in wanted if name in os.environ}


START_SESSION = Tool(
    "start_session",
    "Start a session",
    told(start_session),
    StartTool,
    SessionStarted,
    start_session,
    Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
)
