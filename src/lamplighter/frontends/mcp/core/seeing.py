"""Seeing sessions: list_sessions, get_session."""

from __future__ import annotations

from pydantic import Field

from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.toolset import READS, Answer, Tool
from lamplighter.operations.operation import Request, Result


class ListSessions(Request):
    selection: str = Field(default="mine", description="which")


class Brief(Result):
    id: str
    name: str


class Listed(Result):
    sessions: list[Brief]


async def list_sessions(conversation: Conversation, request: ListSessions) -> Answer:
    found = await conversation.operate("list_sessions", selection=request.selection)
    rows = [{"id": row["id"], "name": row["name"]} for row in found["sessions"]]
    return Answer({"sessions": rows}, f"{len(rows)} sessions")


LIST_SESSIONS = Tool("list_sessions", "List sessions", "List.", ListSessions, Listed, list_sessions, READS)
