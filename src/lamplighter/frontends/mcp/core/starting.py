"""start_session."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.core.derivation import derived, given
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool, told
from lamplighter.operations.operation import Request, Result
from lamplighter.operations.start import StartSession

StartTool = derived(
    "StartTool",
    StartSession,
    command=(list[str], Field(default_factory=list, description="program and its arguments; or give agent")),
    agent=(
        str | None,
        Field(
            default=None,
            description="an agent instead of command: claude, codex, gemini…; prompt, resume and model need it",
        ),
    ),
    prompt=(str | None, Field(default=None, description="the agent's first prompt")),
    resume=(
        str | None,
        Field(default=None, description="a conversation of the agent to continue: its id, a session, or last"),
    ),
    model=(str | None, Field(default=None, description="the agent's model")),
    headless=(bool, Field(default=False, description="pipes instead of a terminal")),
    tmux=(bool, Field(default=False, description="in the user's own tmux")),
    keep_children=(bool, Field(default=False, description="what it started outlives it")),
    kind=(Literal["task", "subagent", "cron"], Field(default="task", description="what it is for")),
    cwd=(str | None, Field(default=None, description="folder, absolute; by default yours")),
    name=(
        str | None,
        Field(default=None, description="unique among living sessions; else from the command"),
    ),
    project=(str | None, Field(default=None, description="by default that of its folder")),
    idle_limit=(str | None, Field(default=None, description="end it when quiet so long: 30m, 8h")),
    max_age=(str | None, Field(default=None, description="end it when older than this: 2h, 3d")),
    max_memory=(str | None, Field(default=None, description="end it when it takes more: 500M, 2G")),
    from_session=(str | None, Field(default=None, description="start with this one's hand-off: id, name, or last")),
    env=(dict[str, str], Field(default_factory=dict, description="variables added to yours")),
)


class Started(Result):
    id: str
    name: str
    state: str
    pid: int


async def start_session(conversation: Conversation, request: Request) -> Answer:
    """Start a program or another agent as a new session of yours; returns its id once the program runs.

    Use it for work that goes on beside you: agents, servers, long builds. Not for typing into one that runs (send_input)
    or a short command (your shell). All it starts dies with it, unless keep_children. Run by no shell (for pipes:
    ["sh", "-c", "…"]), with your user's rights, on a terminal unless headless or tmux. The hand-off of from_session is in the
    file that $LAMPLIGHTER_HANDOFF names, in an agent's prompt, and replaces {handoff} in command.

    Leaves nothing when it fails: NO_SUCH_PROGRAM, NO_SUCH_FOLDER, NAME_TAKEN, TOO_MANY, START_FAILED; from_session:
    SUCCEEDED (by another), NO_SUCCESSOR (it allows none).
    """
    arguments = given(request)
    arguments["cwd"] = arguments["cwd"] or conversation.client.cwd
    found = await conversation.operate(
        "start_session", environment=conversation.client.environment or _plain(), **arguments
    )
    return Answer({name: found[name] for name in (*Started.model_fields, "parent")})


def _plain() -> dict[str, str]:
    """For a client whose environment is not known: what a program needs at least."""
    wanted = ("PATH", "HOME", "LANG", "USER", "SHELL", "TMPDIR")
    return {name: os.environ[name] for name in wanted if name in os.environ}


START_SESSION = Tool(
    "start_session",
    "Start a session",
    told(start_session),
    StartTool,
    Started,
    start_session,
    Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
)
