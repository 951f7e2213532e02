"""kiro_history, kiro_history_clear and kiro_session_save: what was said."""

from __future__ import annotations

from pydantic import Field

from lamplighter.compat.kiro.chat import ACTS, OR_MADE, Ran, run
from lamplighter.compat.kiro.queries import ReadKiroHistory
from lamplighter.compat.kiro.sessions import OR_ACTIVE, Which
from lamplighter.errors import Code, InputError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.operations.operation import Request, Result, default_of

_MOST = 10_000
_PRINTABLE = 32


class History(Request):
    session_id: str | None = Field(default=None, max_length=100, description=OR_ACTIVE)
    limit: int = Field(
        default=default_of(ReadKiroHistory, "limit"),
        ge=1,
        le=_MOST,
        description="at most this many entries, the newest",
    )


class Remark(Result):
    role: str = Field(description="user or assistant")
    content: str
    timestamp: str


class Remarks(Result):
    session_id: str
    history: list[Remark]
    count: int


async def history(conversation: ToolContext, request: History) -> Answer:
    found = await conversation.operate("read_kiro_history", session_id=request.session_id, limit=request.limit)
    told = {"session_id": found["session"]["id"], "history": found["history"], "count": len(found["history"])}
    return Answer(told)


class Cleared(Result):
    success: bool
    session_id: str


async def history_clear(conversation: ToolContext, request: Which) -> Answer:
    found = await conversation.operate("clear_kiro_session", session_id=request.session_id, conversation=False)
    told = {"success": True, "session_id": found["session_id"]}
    return Answer(told)


class Save(Request):
    path: str = Field(
        min_length=1, max_length=4096, description="a file; kiro-cli takes it from the session's working directory"
    )
    session_id: str | None = Field(default=None, max_length=100, description=OR_MADE)


class Saved(Ran):
    session_id: str
    save_path: str = Field(description="the path as it was given")


async def save(conversation: ToolContext, request: Save) -> Answer:
    if any(ord(character) < _PRINTABLE for character in request.path):  # another line would be another command
        raise InputError(
            Code.BAD_INPUT, "the path has control characters in it", "give another path; nothing was written"
        )
    told, session = await run(conversation, f"/save {request.path}", request.session_id)
    return Answer({**told, "session_id": session, "save_path": request.path})


TOOLS = (
    Tool(
        "kiro_history",
        "Read Kiro history",
        "Read what was said in one of your kiro sessions, the oldest first: your messages and the answers that were completed. "
        "Commands are not in it, and nothing said outside this server. To keep it in a file: kiro_session_save.",
        History,
        Remarks,
        history,
        READS,
    ),
    Tool(
        "kiro_history_clear",
        "Clear Kiro history",
        "Delete the history kept here of one of your kiro sessions; kiro-cli itself still remembers the conversation. To make it "
        "forget too: kiro_session_clear. Cannot be undone.",
        Which,
        Cleared,
        history_clear,
        Hints(read_only=False, destructive=True, idempotent=True),
    ),
    Tool(
        "kiro_session_save",
        "Save Kiro session",
        "Have kiro-cli write the conversation of one of your kiro sessions to a file, by its own /save. success and output are "
        "what it said; whether it replaces a file that is there is its own to decide. The session goes on. To only look at "
        "what was said: kiro_history.",
        Save,
        Saved,
        save,
        ACTS,
    ),
)
