"""store_memory, search_memory, list_memories, update_memory and delete_memory: on records, none of which is overwritten."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.compat.rekindle.sessions import PROJECT
from lamplighter.domain.memory.record import LONGEST, WHOLE_ID, RecordType
from lamplighter.errors import Code, Hint, InputError, MissingError, Use
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool
from lamplighter.operations.fields import Redacted, Withheld
from lamplighter.operations.operation import Request, Result, default_of
from lamplighter.operations.records import ListRecords, SearchRecords

Category = Literal["preference", "lesson", "context", "relationship", "general"]


class Memory(Result):
    id: str
    content: str
    category: str
    importance: int
    project: str | None = Field(description="none for what holds everywhere")
    type: str
    source: str
    session_id: str | None
    created_at: str
    supersedes: str | None = Field(description="the id of the one that this took the place of")


def _memory(record: dict[str, Any]) -> dict[str, Any]:
    taken = ("id", "content", "category", "importance", "type", "source", "created_at", "supersedes")
    told = {name: record[name] for name in taken}
    return {**told, "project": record["project_name"] or record["project"], "session_id": record["session"]}


class StoreMemory(Request):
    content: str = Field(max_length=LONGEST, description="what is to be known, in a sentence or two")
    category: Category = Field(default="general", description="what kind of thing it is")
    importance: int = Field(default=5, ge=1, le=10, description="10 for what must never be missed")
    project: str | None = Field(default=None, min_length=1, max_length=1000, description=PROJECT)


class Stored(Result):
    id: str
    message: str
    redacted: Redacted
    withheld: Withheld


async def store_memory(conversation: ToolContext, request: StoreMemory) -> Answer:
    preference = request.category == "preference"
    record = {
        "content": request.content,
        "type": RecordType.PREFERENCE.value if preference else RecordType.NOTE.value,
        "category": request.category,
        "importance": request.importance,
    }
    nowhere = request.project is None and conversation.client.cwd is None and conversation.caller.session is None
    kept = await conversation.operate(
        "store_records",
        records=[record],
        project=request.project,
        folder=conversation.client.cwd,
        everywhere=nowhere or None,
    )
    identifier = kept["records"][0]["id"]
    said = f"stored as {identifier}" if kept["stored"] else f"known already, word for word, as {identifier}"
    return Answer({"id": identifier, "message": said, "redacted": kept["redacted"], "withheld": kept["withheld"]})


class SearchMemory(Request):
    query: str = Field(max_length=1_000_000, description="what to look for: any words, a sentence, a name, a path")
    category: Category | None = Field(default=None, description="only of this category")
    project: str | None = Field(
        default=None, min_length=1, max_length=1000, description="only of this project, and what holds everywhere"
    )
    limit: int = Field(default=default_of(SearchRecords, "limit"), ge=1, le=100, description="at most this many")


class Results(Result):
    count: int
    results: list[Memory]


async def search_memory(conversation: ToolContext, request: SearchMemory) -> Answer:
    found = await _found(conversation, "search_records", request.model_dump())
    return Answer({"count": len(found), "results": found})


class ListMemories(Request):
    category: Category | None = Field(default=None, description="only of this category")
    project: str | None = Field(
        default=None, min_length=1, max_length=1000, description="only of this project, and what holds everywhere"
    )
    limit: int = Field(
        default=default_of(ListRecords, "limit"), ge=1, le=200, description="at most this many, the newest"
    )


class Memories(Result):
    count: int
    memories: list[Memory]


async def list_memories(conversation: ToolContext, request: ListMemories) -> Answer:
    found = await _found(conversation, "list_records", request.model_dump())
    return Answer({"count": len(found), "memories": found})


async def _found(conversation: ToolContext, operation: str, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Without a project those of all. A project that nobody has stored anything for has none, as in the original."""
    every = wanted["project"] is None or None
    try:
        found = await conversation.operate(operation, folder=conversation.client.cwd, all=every, **wanted)
    except MissingError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return []
    return [_memory(record) for record in found["records"]]


class UpdateMemory(Request):
    id: str = Field(min_length=1, max_length=100, description="the memory's id")
    content: str | None = Field(default=None, max_length=LONGEST, description="what holds instead")
    category: Category | None = Field(default=None, description="another category")
    importance: int | None = Field(default=None, ge=1, le=10, description="more or less important")


class Updated(Result):
    success: bool
    memory: Memory = Field(description="the new one, under an id of its own; the old one is kept as superseded")


async def update_memory(conversation: ToolContext, request: UpdateMemory) -> Answer:
    given = request.model_dump(exclude={"id"}, exclude_none=True)
    if not given:
        raise InputError(
            Code.BAD_INPUT, "there is nothing to update", "give content, category or importance; nothing was done"
        )
    kept = await conversation.operate(
        "update_record",
        action="supersede",
        records=[_whole(request.id)],
        folder=conversation.client.cwd,
        **given,
    )
    memory = _memory(kept["records"][0])
    return Answer({"success": True, "memory": memory})


class DeleteMemory(Request):
    id: str = Field(min_length=1, max_length=100, description="the memory's id")


class Deleted(Result):
    success: bool
    message: str


async def delete_memory(conversation: ToolContext, request: DeleteMemory) -> Answer:
    await conversation.operate("update_record", action="forget", records=[_whole(request.id)])
    said = f"{request.id} is forgotten: it is found and loaded no more"
    return Answer({"success": True, "message": said})


def _whole(identifier: str) -> str:
    """Part of an id, which our own commands take, could mean another memory tomorrow."""
    if len(identifier) != WHOLE_ID:
        raise MissingError(
            Code.NOT_FOUND,
            f"there is no memory {identifier[:60]!a}",
            Hint(Use("records"), " has the ids of those there are"),
        )
    return identifier


TOOLS = (
    Tool(
        "store_memory",
        "Store a memory",
        "Keep something that later sessions should know. It is found by search_memory; a preference is also in boot_report. "
        "What is known already, word for word, is not stored again. Secrets of well-known forms are taken out, and what "
        "stands in <private>…</private> is never stored. What belongs to the end of a session: end_session. To correct one: "
        "update_memory.",
        StoreMemory,
        Stored,
        store_memory,
        Hints(read_only=False, destructive=False, idempotent=True),
    ),
    Tool(
        "search_memory",
        "Search memories",
        "Find memories by their words, the best first: what was stored here, and what sessions handed over. Any text is a "
        "query; it has no syntax. With project only that project's, and what holds everywhere; without it those of all. "
        "BAD_INPUT for an empty query: list_memories lists without one.",
        SearchMemory,
        Results,
        search_memory,
        READS,
    ),
    Tool(
        "list_memories",
        "List memories",
        "List the memories in force, the newest first. With project only that project's, and what holds everywhere; without "
        "it those of all. To find something by its words: search_memory.",
        ListMemories,
        Memories,
        list_memories,
        READS,
    ),
    Tool(
        "update_memory",
        "Update a memory",
        "Put a new memory in the place of one that does not hold any more: another text, category or importance. Nothing is "
        "overwritten: the result has the new id, and the old one is kept as superseded. NOT_ACTIVE when it was superseded or "
        "forgotten before, FORBIDDEN for what the operator stored.",
        UpdateMemory,
        Updated,
        update_memory,
        Hints(read_only=False, destructive=False, idempotent=False),
    ),
    Tool(
        "delete_memory",
        "Forget a memory",
        "Forget a memory: it is found, listed and loaded no more. An open loop that is done is closed this way too. Only the "
        "operator can delete what is left of it. To correct one instead: update_memory. NOT_FOUND when there is none, "
        "FORBIDDEN for what the operator stored.",
        DeleteMemory,
        Deleted,
        delete_memory,
        Hints(read_only=False, destructive=True, idempotent=True),
    ),
)
