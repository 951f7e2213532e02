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
    command="program and arguments; with agent: its arguments",
    agent="claude, codex, gemini…; needed by prompt, resume and model",
    prompt="the agent's first prompt",
    resume="conversation to go on with: its id, a session, last",
    model="the agent's model",
    headless="on pipes; an agent: one turn",
    tmux="in a window of the user's tmux",
    keep_children="what it left running may go on",
    kind=(
        Literal["task", "subagent", "cron"],
        Field(default="task", description="for selections and configured limits"),
    ),
    cwd="absolute; default: yours",
    name="unique among living sessions",
    project="default: that of cwd",
    idle_limit="end it when quiet this long: 30m",
    max_age="end it at this age: 3d",
    max_memory="end it above this: 2G",
    from_session="id, name, or last (of the project)",
    env="added to your variables",
)


class SessionStarted(Result):
    id: str
    name: str
    state: str
    pid: int


async def start_session(conversation: ToolContext, request: Request) -> Answer:
    """Start a program or another agent as a new session, which is yours and outlives you. Returns its id once the program
    runs; if not, nothing starts.

    Use it for work beside yours: agents, servers, long builds. For a short command use your shell, for a running session
    send_input.

    Give command, agent or both: ["make","test"], or agent=codex with prompt. There is no shell (for pipes:
    ["sh","-c","…"]). When the program exits, what it left running is ended. from_session hands over what another left,
    once: always in the file $LAMPLIGHTER_HANDOFF, also before an agent's prompt and as {handoff} in command.

    NO_SUCH_PROGRAM, NO_SUCH_FOLDER, NAME_TAKEN, TOO_MANY; from_session: SUCCEEDED (already taken), NO_SUCCESSOR (none
    allowed).
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
