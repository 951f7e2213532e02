"""Seeing sessions: sessions_list, sessions_history."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.compat.openclaw.operations import ListedSession
from lamplighter.compat.openclaw.rows import found, listed, milliseconds, row, size_of
from lamplighter.errors import LampError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Tool
from lamplighter.operations.operation import Request, Result

_LIST_ROOM = 60 << 10
_HISTORY_ROOM = 70_000
_GLANCE = 64 << 10
_MESSAGE_LONGEST = 600
KINDS = Literal["main", "group", "cron", "hook", "node", "other"]


class SessionsList(Request):
    kinds: list[KINDS] | None = Field(
        default=None, max_length=6, description="only these kinds; sub-agents and plain tasks are other"
    )
    limit: int = Field(default=100, ge=1, le=200, description="rows at most")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="rows to pass over: nextOffset of the page before")
    activeMinutes: float | None = Field(
        default=None, gt=0, le=1e9, description="only those with a sign of life in the last so many minutes"
    )
    label: str | None = Field(default=None, max_length=100, description="only those with exactly this label")
    search: str | None = Field(
        default=None, max_length=200, description="only those with this text in key, name, label, agent or folder"
    )
    messageLimit: int = Field(
        default=0, ge=0, le=20, description="how many of the last messages to add to each row, shortened"
    )


class MessageRow(Result):
    role: Literal["user", "assistant", "tool", "system"] = Field(
        description="user: something was typed (its text is not kept); assistant: output; tool: standard error; system: its end"
    )
    text: str
    timestamp: int | None = Field(description="milliseconds since 1970")


class SessionRow(Result):
    key: str = Field(description="what the other tools take as sessionKey")
    kind: KINDS
    label: str | None = None
    displayName: str = Field(description="its name in Lamplighter")
    sessionId: str = Field(description="its id in Lamplighter, also good as sessionKey")
    agentId: str
    status: str = Field(description="running, ending; of an ended one done, failed, killed, timeout or lost")
    verdict: str = Field(
        description="working, waiting, idle, finished, stuck, orphaned, leftovers, unknown; the first two and unknown are active"
    )
    mine: bool = Field(description="yours to send to, kill and clean up")
    spawnedBy: str | None = Field(default=None, description="the key of the session that started it")
    updatedAt: int = Field(description="last sign of life, milliseconds since 1970")
    startedAt: int | None = None
    endedAt: int | None = None
    messages: list[MessageRow] | None = None


class SessionsListed(Result):
    count: int = Field(description="rows in this page")
    sessions: list[SessionRow] = Field(description="the newest first")
    hasMore: bool
    nextOffset: int | None = Field(default=None, description="offset of the next page, when there is one")


async def sessions_list(conversation: ToolContext, request: SessionsList) -> Answer:
    page = await listed(
        conversation,
        kinds=request.kinds,
        active_seconds=None if request.activeMinutes is None else request.activeMinutes * 60,
        label=request.label,
        search=request.search,
        offset=request.offset,
        limit=request.limit,
    )
    rows, room = list[dict[str, Any]](), _LIST_ROOM
    for one in page.sessions:
        shown = row(one)
        if request.messageLimit:
            shown["messages"] = await _last_words(conversation, one, request.messageLimit)
        room -= size_of(shown) + 2
        if room < 0 and rows:
            break
        rows.append(shown)
    following = request.offset + len(rows)
    more = following < page.total
    answer: dict[str, Any] = {"count": len(rows), "sessions": rows, "hasMore": more}
    if more:
        answer["nextOffset"] = following
    return Answer(answer)


async def _last_words(conversation: ToolContext, one: ListedSession, limit: int) -> list[dict[str, Any]]:
    if not one.readable:
        return []  # a glance at many asks the operator about none
    try:
        told = await conversation.operate("read_history", session=one.id, limit=limit, tail=_GLANCE)
    except LampError:
        return []  # it went meanwhile; the row says what is known
    shown = [_message(message) for message in told["messages"]]
    return [{**message, "text": message["text"][-_MESSAGE_LONGEST:]} for message in shown]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    return {"role": message["role"], "text": message["text"], "timestamp": milliseconds(message["at"])}


class SessionsHistory(Request):
    sessionKey: str = Field(min_length=1, max_length=200, description="its key; also its id or name in Lamplighter")
    limit: int = Field(default=50, ge=1, le=1000, description="at most this many messages, the newest")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="pass over so many of the newest, to page back")
    includeTools: bool = Field(
        default=False, description="also the tools it used, or what it printed on standard error, as role tool"
    )


class SessionsHistoryRead(Result):
    sessionKey: str
    sessionId: str
    status: str
    messages: list[MessageRow] = Field(description="oldest first")
    truncated: bool = Field(description="older messages or bytes of the log are not here")
    nextOffset: int | None = Field(
        default=None, description="offset for the messages before these, when there are some"
    )
    lostBytes: int = Field(description="bytes of output that are gone: rotated, pruned or discarded")


async def sessions_history(conversation: ToolContext, request: SessionsHistory) -> Answer:
    session = await found(conversation, request.sessionKey)
    told = await conversation.operate(
        "read_history",
        session=session.id,
        limit=request.limit,
        offset=request.offset,
        errors=request.includeTools,
        spoken=True,
        max_bytes=_HISTORY_ROOM,
    )
    messages = [_message(message) for message in told["messages"]]
    gone = 0 if told["kept"] else session.output
    answer: dict[str, Any] = {
        "sessionKey": session.key,
        "sessionId": session.id,
        "status": session.status,
        "messages": messages,
        "truncated": bool(told["older"] or told["lost"] or gone),
        "lostBytes": told["lost"] or gone,
    }
    if told["older"]:
        answer["nextOffset"] = request.offset + len(messages)
    return Answer(answer)


LIST = Tool(
    "sessions_list",
    "List sessions",
    "List the sessions on this machine, the newest first: key, kind, status, verdict, whose it is, last sign of life. "
    "Living ones, and those that ended by themselves within a day, with status done, failed, timeout or lost; what "
    "was killed or cleaned up is not listed again. Use it to get the keys that the other tools take; for what one "
    "session printed use sessions_history. Filters all have to hold together. Reads only; everybody may see all, and "
    "`mine` says which you may act on. At most 200 rows and 64 KiB: hasMore and nextOffset say how to go on.",
    SessionsList,
    SessionsListed,
    sessions_list,
    READS,
)
HISTORY = Tool(
    "sessions_history",
    "Read a session's history",
    "Read what was said in one session, oldest first: by its agent's own transcript where there is one, else from its log: its "
    "output as assistant, that something was typed "
    "as user (the text that was typed is never kept), its end as system. Works for ended sessions as long as their "
    "log is kept. Use sessions_list with messageLimit for a glance at many, sessions_send to say something. Reads "
    "only; everybody may, unless the operator lets agents read their own alone: then ask as the error says. "
    "Gives the newest messages under 80 KB; truncated says that something is missing, nextOffset "
    "how to page back. Fails with NOT_FOUND for a key that never was.",
    SessionsHistory,
    SessionsHistoryRead,
    sessions_history,
    READS,
)
