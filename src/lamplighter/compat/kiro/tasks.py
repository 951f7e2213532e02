"""kiro_chat_async, kiro_task_status, _cancel and _list; and kiro_pool_stats, though there is no pool."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.compat.kiro.chat import ACTS, OR_MADE, problem, say
from lamplighter.compat.kiro.failures import failure
from lamplighter.compat.kiro.sessions import SESSION
from lamplighter.errors import MissingError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.operations.operation import Nothing, Request, Result

_PAGE = 128 << 10
_TASK = "id of one of your tasks, task-<12 hex>"


class ChatAsync(Request):
    message: str = Field(description="what to say to kiro-cli")
    session_id: str | None = Field(default=None, max_length=100, description=OR_MADE)


class Begun(Result):
    task_id: str
    session_id: str
    status: str
    message: str


async def chat_async(conversation: ToolContext, request: ChatAsync) -> Answer:
    turn = await say(conversation, "task", request.message, request.session_id)
    told = {name: turn[name] for name in ("task_id", "session_id", "status")}
    said = "Task started. Poll kiro_task_status for updates."
    return Answer({**told, "message": said})


class Status(Request):
    task_id: str = Field(max_length=100, description=_TASK)
    from_chunk_index: int = Field(default=0, ge=0, description="give only chunks from this index on")


class Chunk(Result):
    content: str
    index: int = Field(description="an index always has the same content")
    timestamp: str
    is_final: bool = Field(description="the last one of a task that is done")


class TaskStatus(Result):
    """Of a task that is not known only the first and `error` are there."""

    task_id: str
    session_id: str | None = None
    status: str | None = Field(default=None, description="pending, running, streaming, completed, failed or cancelled")
    is_done: bool | None = None
    total_bytes_received: int | None = None
    last_chunk_index: int | None = Field(default=None, description="of all there are so far; 0 when there is none")
    new_chunks: list[Chunk] | None = None
    new_content: str | None = None
    next_chunk_index: int | None = Field(default=None, description="pass it as from_chunk_index next time")
    total_chunks: int | None = None
    result: str | None = Field(default=None, description="all that was said, when completed")
    error: str | dict[str, Any] | None = Field(
        default=None, description="why there is no result, when failed; or that there is no such task"
    )
    problem: dict[str, Any] | None = Field(
        default=None, description="code, message, hint and details, when failed or cancelled"
    )


async def status(conversation: ToolContext, request: Status) -> Answer:
    start = request.from_chunk_index
    try:
        turn = await conversation.operate("get_kiro_turn", task_id=request.task_id, since=start)
    except MissingError:
        unknown = {"error": "Task not found", "task_id": request.task_id}
        return Answer(unknown)
    new = [_chunk(turn, start, number, content) for number, content in enumerate(_page(turn["chunks"]))]
    told: dict[str, Any] = {
        "task_id": turn["task_id"],
        "session_id": turn["session_id"],
        "status": turn["status"],
        "is_done": turn["is_done"],
        "total_bytes_received": turn["total_bytes"],
        "last_chunk_index": max(0, turn["total_chunks"] - 1),
        "new_chunks": new,
        "new_content": "".join(chunk["content"] for chunk in new),
        "next_chunk_index": start + len(new) if new else min(start, turn["total_chunks"]),
        "total_chunks": turn["total_chunks"],
    }
    if turn["status"] == "completed":
        told["result"] = turn["content"]
    elif turn["is_done"]:
        told["problem"] = failure(problem(turn))[1]["error"]
    if turn["status"] == "failed":
        told["error"] = f"{told['problem']['code']}: {told['problem']['message']}"
    return Answer(told)


def _chunk(turn: dict[str, Any], start: int, number: int, content: str) -> dict[str, Any]:
    index = start + number
    is_final = turn["is_done"] and index == turn["total_chunks"] - 1
    return {"content": content, "index": index, "timestamp": turn["times"][number], "is_final": is_final}


def _page(chunks: list[str]) -> list[str]:
    """As many as make a reasonable answer; the next call gets on from there."""
    size, taken = 0, list[str]()
    for chunk in chunks:
        size += len(chunk)
        if taken and size > _PAGE:
            break
        taken.append(chunk)
    return taken


class Cancel(Request):
    task_id: str = Field(max_length=100, description=_TASK)


class Cancelled(Result):
    success: bool = Field(description="false when it was done before, or there is no such task")
    task_id: str
    message: str


async def cancel(conversation: ToolContext, request: Cancel) -> Answer:
    try:
        turn = await conversation.operate("cancel_kiro_task", task_id=request.task_id)
    except MissingError:
        turn = {"cancelled": False}
    said = "Task cancelled" if turn["cancelled"] else "Task not found or already completed"
    return Answer({"success": turn["cancelled"], "task_id": request.task_id, "message": said})


class ListTasks(Request):
    session_id: str | None = Field(default=None, max_length=100, description=f"only of this session: {SESSION}")
    include_done: bool = Field(default=False, description="also those that are completed, failed or cancelled")


class Task(Result):
    task_id: str
    session_id: str
    status: str
    is_done: bool
    message: str = Field(description="what was said, its beginning")
    created_at: str
    started_at: str | None
    completed_at: str | None
    duration_seconds: float | None = Field(description="since it started, or as long as it took")
    total_bytes_received: int
    chunks_count: int
    last_chunk_index: int


class Tasks(Result):
    tasks: list[Task]
    count: int


async def tasks(conversation: ToolContext, request: ListTasks) -> Answer:
    found = await conversation.operate("list_kiro_turns", session_id=request.session_id, done=request.include_done)
    rows = [_task(turn) for turn in found["turns"]]
    return Answer({"tasks": rows, "count": len(rows)})


def _task(turn: dict[str, Any]) -> dict[str, Any]:
    same = ("task_id", "session_id", "status", "is_done", "created_at", "started_at")
    return {name: turn[name] for name in same} | {
        "message": turn["message"][:200],
        "completed_at": turn["ended_at"],
        "duration_seconds": turn["duration"],
        "total_bytes_received": turn["total_bytes"],
        "chunks_count": turn["total_chunks"],
        "last_chunk_index": max(0, turn["total_chunks"] - 1),
    }


class Pool(Result):
    enabled: bool


class PoolStats(Result):
    pool_stats: Pool


async def pool(_: ToolContext, __: Nothing) -> Answer:
    return Answer({"pool_stats": {"enabled": False}})


TOOLS = (
    Tool(
        "kiro_chat_async",
        "Chat with Kiro in the background",
        "Say something to kiro-cli and come back at once with a task_id; the work goes on whatever happens to this client. "
        "Follow it with kiro_task_status, stop it with kiro_task_cancel. For a short answer use kiro_chat. It may read, "
        "write and run anything in the session's folder. SESSION_BUSY while the session is at another message; the last "
        "100 tasks are kept.",
        ChatAsync,
        Begun,
        chat_async,
        ACTS,
    ),
    Tool(
        "kiro_task_status",
        "Get Kiro task status",
        "Look at one of your tasks: its state, what it has printed since from_chunk_index, and its result or error once it is "
        "done. Chunks are given as kiro-cli printed them. Does not wait: call it again with next_chunk_index. All tasks: "
        "kiro_task_list. For one that is not yours, or older than your last 100, it gives {error, task_id}.",
        Status,
        TaskStatus,
        status,
        READS,
    ),
    Tool(
        "kiro_task_cancel",
        "Cancel Kiro task",
        "Stop one of your tasks, or a chat under way: TERM to its whole tree, the grace, KILL, until nothing is left. What it "
        "printed is kept; what it changed stays changed; its session stays open. success is false when it was done before, or "
        "is none of yours. To end the session too: kiro_session_end.",
        Cancel,
        Cancelled,
        cancel,
        Hints(read_only=False, destructive=True, idempotent=True),
    ),
    Tool(
        "kiro_task_list",
        "List Kiro tasks",
        "List your tasks, chats and commands that are under way, the oldest first; with include_done also those that are done. "
        "Without their text: that is kiro_task_status. Sessions: kiro_session_list.",
        ListTasks,
        Tasks,
        tasks,
        READS,
    ),
    Tool(
        "kiro_pool_stats",
        "Get Kiro pool statistics",
        "Always {pool_stats: {enabled: false}}: each message runs in a process of its own and no pool is kept. Here for those "
        "who ask. What runs now: kiro_task_list.",
        Nothing,
        PoolStats,
        pool,
        READS,
    ),
)
