"""kiro_session_create, _list, _switch, _end and _clear."""

from __future__ import annotations

import os

from pydantic import Field

from lamplighter.compat.kiro.settings import kiro_settings
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.operations.operation import Nothing, Request, Result

SESSION = "id of one of your sessions, session-<12 hex>"
OR_ACTIVE = f"{SESSION}; the active one when left out"


class Session(Result):
    id: str
    agent: str | None
    working_directory: str
    created_at: str
    last_active: str
    is_active: bool


class Create(Request):
    agent: str | None = Field(
        default=None, max_length=200, description="name of a Kiro agent; Kiro's default if left out"
    )
    working_directory: str | None = Field(
        default=None, max_length=4096, description="an existing folder; the client's own if left out"
    )


async def create(conversation: ToolContext, request: Create) -> Answer:
    usual = kiro_settings(conversation.client.environment or {}).working_directory
    folder, given = usual or conversation.client.cwd, request.working_directory
    if given is not None:
        # An empty one is a variable that was not set, never the wish for the client's own.
        folder = os.path.join(folder or "", os.path.expanduser(given)) if given else ""
    made = await conversation.operate(
        "create_kiro_session",
        agent=request.agent,
        working_directory=folder,
        environment=conversation.client.environment,
    )
    return Answer(made)


class Sessions(Result):
    sessions: list[Session]
    active_session_id: str | None
    count: int


async def listed(conversation: ToolContext, _: Nothing) -> Answer:
    found = await conversation.operate("list_kiro_sessions")
    rows = found["sessions"]
    told = {"sessions": rows, "active_session_id": found["active"], "count": len(rows)}
    return Answer(told)


class One(Request):
    session_id: str = Field(max_length=100, description=SESSION)


class Switched(Result):
    success: bool
    active_session_id: str


async def switch(conversation: ToolContext, request: One) -> Answer:
    found = await conversation.operate("switch_kiro_session", session_id=request.session_id)
    return Answer({"success": True, "active_session_id": found["active"]})


class Ended(Result):
    success: bool
    session_id: str


async def end(conversation: ToolContext, request: One) -> Answer:
    found = await conversation.operate("end_kiro_session", session_id=request.session_id)
    return Answer({"success": True, "session_id": found["session_id"]})


class Which(Request):
    session_id: str | None = Field(default=None, max_length=100, description=OR_ACTIVE)


class Cleared(Result):
    success: bool = Field(description="false when there was nothing to forget")
    message: str
    path: str = Field(description="the folder's own .kiro/session.json")


async def clear(conversation: ToolContext, request: Which) -> Answer:
    found = await conversation.operate("clear_kiro_session", session_id=request.session_id, conversation=True)
    folder, cleared = found["working_directory"], found["deleted"] or found["remembered"]
    said = f"Cleared kiro-cli session in {folder}" if cleared else "No kiro-cli session file found"
    return Answer({"success": cleared, "message": said, "path": found["file"]})


TOOLS = (
    Tool(
        "kiro_session_create",
        "Create Kiro session",
        "Make a session for talking to kiro-cli in a folder, with a conversation of its own. It becomes the active one when "
        "there is none; else kiro_session_switch makes it that. Nothing runs until kiro_chat or kiro_chat_async speaks to it. "
        "Not needed for one conversation: those make a session by themselves. Keeps your other sessions (10 at most, else "
        "SESSION_LIMIT_REACHED). It ends when nobody speaks to it for 300 s. A folder that is not there is an error; without "
        "kiro-cli: KIRO_CLI_NOT_FOUND.",
        Create,
        Session,
        create,
        Hints(read_only=False, destructive=False, idempotent=False),
    ),
    Tool(
        "kiro_session_list",
        "List Kiro sessions",
        "List your own open kiro sessions, the oldest first, and which is active. Others' sessions are never shown. What runs in "
        "them: kiro_task_list; what was said: kiro_history.",
        Nothing,
        Sessions,
        listed,
        READS,
    ),
    Tool(
        "kiro_session_switch",
        "Switch Kiro session",
        "Make one of your kiro sessions the active one: the one that calls without session_id mean from now on. Starts and ends "
        "nothing. SESSION_NOT_FOUND for one that has ended or is not yours.",
        One,
        Switched,
        switch,
        Hints(read_only=False, destructive=False, idempotent=True),
    ),
    Tool(
        "kiro_session_end",
        "End Kiro session",
        "End one of your kiro sessions for good, with all that runs in it: TERM, the grace, KILL, until no process is left; "
        "a chat under way fails and says so. Its conversation and history are gone (kiro_session_save first to keep them). The "
        "oldest session left becomes active, or none. To stop only what runs: kiro_task_cancel; only to forget: "
        "kiro_session_clear. SESSION_NOT_FOUND also when it was ended before.",
        One,
        Ended,
        end,
        Hints(read_only=False, destructive=True, idempotent=False),
    ),
    Tool(
        "kiro_session_clear",
        "Clear Kiro session",
        "Make one of your kiro sessions forget its conversation: kiro-cli's memory of it, the history kept here, and "
        ".kiro/session.json in the session's folder, which is deleted for everybody who works there. The session stays open, "
        "with its folder and agent. Cannot be undone. To drop only the history kept here: "
        "kiro_history_clear. SESSION_BUSY while a message is under way.",
        Which,
        Cleared,
        clear,
        Hints(read_only=False, destructive=True, idempotent=True),
    ),
)
