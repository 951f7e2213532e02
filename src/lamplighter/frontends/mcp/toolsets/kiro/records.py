"""kiro_history, kiro_history_clear and kiro_session_save: what was said."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from contextlib import suppress
from typing import Any

from pydantic import Field

from lamplighter.domain.counting import counted
from lamplighter.domain.permission import Act
from lamplighter.errors import Code, InputError, UnavailableError
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.frontends.mcp.toolsets.kiro.sessions import OR_ACTIVE, Which
from lamplighter.operations.kiro_views import ReadKiroHistory
from lamplighter.operations.operation import Request, Result, default_of

_MOST = 10_000


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


async def history(conversation: Conversation, request: History) -> Answer:
    found = await conversation.operate("read_kiro_history", session_id=request.session_id, limit=request.limit)
    told = {"session_id": found["session"]["id"], "history": found["history"], "count": len(found["history"])}
    return Answer(told, f"{counted(told['count'], 'entry')} of {told['session_id']}")


class Cleared(Result):
    success: bool
    session_id: str


async def history_clear(conversation: Conversation, request: Which) -> Answer:
    found = await conversation.operate("clear_kiro_session", session_id=request.session_id, conversation=False)
    told = {"success": True, "session_id": found["session_id"]}
    return Answer(told, f"the history of {found['session_id']} is cleared; kiro-cli itself still remembers")


class Save(Request):
    path: str = Field(
        min_length=1,
        max_length=4096,
        description="a file; relative to the session's working directory; replaced if there",
    )
    session_id: str | None = Field(default=None, max_length=100, description=OR_ACTIVE)


class Saved(Result):
    success: bool
    session_id: str
    save_path: str
    count: int


async def save(conversation: Conversation, request: Save) -> Answer:
    await conversation.app.admitted(conversation.caller, Act.START)  # to write a file is more than to read
    found = await conversation.operate("read_kiro_history", session_id=request.session_id, limit=_MOST)
    session: dict[str, Any] = found["session"]
    path = _place(request.path, session["working_directory"], conversation.app.settings.home.state)
    document = {"session": session, "history": found["history"]}
    await asyncio.to_thread(_write, path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    told = {"success": True, "session_id": session["id"], "save_path": path, "count": len(found["history"])}
    return Answer(told, f"{counted(len(found['history']), 'entry')} written to {path}")


def _place(path: str, folder: str, ours: str) -> str:
    """Where to write, or BAD_INPUT that says why not there."""
    problem = None
    if "\0" in path:
        raise InputError(Code.BAD_INPUT, "the path has a NUL in it", "give another path; nothing was written")
    full = os.path.realpath(os.path.join(folder, os.path.expanduser(path)))
    with suppress(OSError):
        if not stat.S_ISREG(os.stat(full).st_mode):
            problem = "is a folder, or no ordinary file"
    if not os.path.isdir(os.path.dirname(full)):
        problem = "is in a folder that is not there"
    if path.endswith("/"):
        problem = "names a folder"
    if os.path.commonpath([full, os.path.realpath(ours)]) == os.path.realpath(ours):
        problem = "is among Lamplighter's own files"
    if problem:
        raise InputError(
            Code.BAD_INPUT, f"{full[:200]!a} {problem}", "give the path of a file; nothing was written", path=full
        )
    return full


def _write(path: str, text: str) -> None:
    """All of it or nothing."""
    fresh = f"{path}.{os.urandom(4).hex()}.new"
    try:
        with open(fresh, "x", encoding="utf-8", errors="replace", opener=_private) as file:
            file.write(text)
        os.replace(fresh, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(fresh)
        raise UnavailableError(
            Code.DISK_FULL,
            f"{path[:200]!a} cannot be written: {error.strerror}",
            "give a path that you may write to; nothing was written",
        ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


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
        "Write the history of one of your kiro sessions to a file, as JSON. A file that is there is replaced, whole or not at "
        "all; a folder never is. The session goes on. To only look at it: kiro_history.",
        Save,
        Saved,
        save,
        Hints(read_only=False, destructive=True, idempotent=True),
    ),
)
