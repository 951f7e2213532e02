"""Captures: keeping what a session's transcript says now, and reading it later. On no command line."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lamplighter.compat.rekindle.own_session import Meant, own_session
from lamplighter.domain.capture import Capture, told
from lamplighter.domain.permission import Act, check_reading
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Approval, Redacted, Withheld
from lamplighter.operations.operation import Request, Result, default_of, operation
from lamplighter.operations.permission import nameable, readable
from lamplighter.operations.views.common import Moment, moment

_MOST = 200


class CaptureView(Result):
    """One capture, without what was said."""

    id: str
    session: str
    at: Moment
    by: str
    reason: str
    agent: str
    transcript_path: str
    message_count: int
    at_least: bool = Field(description="the beginning of the transcript was not read")
    left_out: int = Field(description="earlier messages that were counted and are not kept")
    redacted: Redacted
    withheld: Withheld


class CaptureSession(Meant):
    transcript_path: str | None = Field(default=None, min_length=1, max_length=4096, description="by default found")
    reason: str = Field(default="", max_length=2000, description="why now")


@operation(command=None, group="memory", changes=True, act=Act.HAND_OFF)
async def capture_session(call: Call, request: CaptureSession) -> CaptureView:
    """Keep what a session's transcript says now. Secrets of well-known forms are taken out; the same content is kept once."""
    again = await call.app.captures.taken(call.key) if call.repeated else None
    if again is not None:
        return view_of(again)
    path = request.transcript_path
    if path is not None:
        check_reading(call.caller)
        await nameable(call, "a transcript to be read")
    session = await own_session(call, request)
    return view_of(await call.app.captures.take(session, path, request.reason, call.caller, call.key))


class ListCaptures(Request):
    session: str | None = Field(default=None, min_length=1, max_length=200, description="only of this session")
    names_of: str = default_of(Meant, "names_of")
    limit: int = Field(default=_MOST, ge=1, le=_MOST, description="at most this many")


class CapturesFound(Result):
    captures: list[CaptureView] = Field(description="the newest first")
    total: int


@operation(command=None, group="memory")
async def list_captures(call: Call, request: ListCaptures) -> CapturesFound:
    """List what was captured, the newest first, without what was said."""
    word, agents = request.session, call.app.external_agents
    session = await agents.known(call.caller, word, request.names_of) if word is not None else None
    found, total = await call.app.captures.newest(session.id if session else None, request.limit)
    return CapturesFound(captures=[view_of(capture) for capture in found], total=total)


class ReadCapture(Request):
    id: str = Field(min_length=1, max_length=100, description="id of a capture, or the unique beginning of one")
    mode: Literal["summary", "structured", "raw"] = Field(
        default="structured", description="a few lines; everything that was made out; or what was said"
    )
    approval: Approval = None


class CaptureText(Result):
    capture: CaptureView
    text: str = Field(description="what the transcript said stands on lines that begin with |")


@operation(command=None, group="memory")
async def read_capture(call: Call, request: ReadCapture) -> CaptureText:
    """Show what a transcript said when it was captured."""
    found = await call.app.captures.find(request.id)
    await readable(call, await call.app.registry.by_id(found.session))
    return CaptureText(capture=view_of(found), text=told(found, request.mode, moment))


def view_of(capture: Capture) -> CaptureView:
    document = capture.document
    return CaptureView.showing(
        capture,
        agent=document["agent"],
        transcript_path=capture.path,
        at_least=document["at_least"],
        left_out=document["left_out"],
    )
