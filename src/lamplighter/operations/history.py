"""What was said in a session, as far as its log shows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lamplighter.agents.formats.transcript import format_of
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io.session_history import HistoryPage, spoken
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Approval, SessionWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import readable
from lamplighter.operations.views.common import Moment

_ROOM = 16 << 20


class ReadHistory(Request):
    session: SessionWord
    limit: int = Field(default=100, ge=1, le=1000, description="at most this many messages, the newest")
    offset: int = Field(default=0, ge=0, le=1_000_000, description="leave out this many of the newest")
    errors: bool = Field(default=True, description="also what it printed on its standard error")
    tail: int | None = Field(default=None, ge=1, description="look at no more than this many bytes of output, the last")
    spoken: bool = Field(default=False, description="by its agent's transcript, where there is one")
    max_bytes: int = Field(default=1 << 20, ge=1024, le=8 << 20, description="bytes of text at most")
    approval: Approval = None


class Message(Result):
    role: Literal["user", "assistant", "tool", "system"] = Field(
        description="user: something was typed; assistant: its output; tool: its standard error; system: what became of it"
    )
    text: str
    at: Moment
    size: int = Field(description="bytes that were typed or printed")


class History(Result):
    id: str
    messages: list[Message] = Field(description="oldest first")
    older: int = Field(description="how many more there are before these")
    lost: int = Field(description="bytes of output that rotation or a full disk took")
    kept: bool = Field(description="whether there is a log of it (still)")


async def _spoken(call: Call, request: ReadHistory, session: Session) -> HistoryPage | None:
    """None where there is no transcript."""
    if format_of(session.transcript_form) is None:
        return None
    chapters = await call.app.transcript_reader.chapters(session)
    if not any(chapter.path for chapter in chapters):
        return None
    wanted = request.limit + request.offset + 1
    # Tools are messages of a transcript too: where they are not wanted, more are read.
    said, _, _ = await call.app.transcript_reader.tail(session, chapters, wanted * (1 if request.errors else 5), _ROOM)
    messages = [message for _, message in said]
    return spoken(session, messages, request.limit, request.offset, request.max_bytes, tools=request.errors)


@operation(command=None, group="sessions")
async def read_history(call: Call, request: ReadHistory) -> History:
    """What was typed and printed, as messages. The text that was typed is never kept: only how much, and by whom."""
    session = await readable(call, await call.app.registry.find(request.session))
    found = await _spoken(call, request, session) if request.spoken else None
    found = found or await call.app.history.read(
        session, request.limit, request.offset, request.max_bytes, errors=request.errors, tail=request.tail
    )
    return History.showing(found, id=session.id)
