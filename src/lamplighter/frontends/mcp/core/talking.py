"""send_input, read_output and wait_session."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.errors import Code, DeadlineError
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.core.derivation import APPROVAL, SESSION, derived, given
from lamplighter.frontends.mcp.core.size import fitting
from lamplighter.frontends.mcp.toolset import READS, Answer, Hints, Tool, told
from lamplighter.operations.operation import Request, Result, default_of
from lamplighter.operations.talk import SendInput, WaitSession


class SentTo(Result):
    id: str
    size: int = Field(description="bytes that reached it")
    cursor: int = Field(description="the answer begins here")


async def send_input(conversation: Conversation, request: Request) -> Answer:
    """Type into a running session, then press Enter.

    Use it to answer a prompt, give an agent its next task or, with keys, interrupt it. Not to stop a session
    (end_session, kill_session). Sent literally and exactly once, to an agent submitted as one prompt; with keys=true
    it is names of keys (Up Enter C-c M-x F5). Cannot be taken back. Returns when it was taken, not answered: then
    wait_session, and read_output with mode=output, since=cursor.

    Your own and those you started; else APPROVAL_NEEDED. ACTIVE when an agent's dialog would take the text; ENDED when over.
    """
    return Answer(await conversation.operate("send_input", **given(request)))


SEND_INPUT = Tool(
    "send_input",
    "Type into a session",
    told(send_input),
    derived("SendTool", SendInput, "session", "text", "keys", "enter", "approval"),
    SentTo,
    send_input,
    Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
)


class ReadTool(Request):
    session: str = Field(description=SESSION)
    mode: Literal["screen", "output", "transcript"] = Field(
        default="screen",
        description="screen: what a person would see now; output: all it printed, by cursor; transcript: an agent's messages",
    )
    since: int | None = Field(default=None, ge=0, description="from this cursor of the same mode on; else the newest")
    lines: int | None = Field(default=None, ge=1, le=5000, description="the last so many lines or messages")
    limit: int = Field(default=16_000, ge=100, le=200_000, description="bytes at most")
    approval: str | None = Field(default=None, description=APPROVAL)


_FACTS = ("id", "cursor", "more", "lost", "exact")


async def read_output(conversation: Conversation, request: ReadTool) -> Answer:
    """Read a session's screen, its output or its agent's transcript.

    Use screen for a program that draws, such as an agent; output with since to follow a log without missing or
    repeating a byte. To wait use wait_session; for state or exit get_session. Answers with the text and the next cursor.
    Works after the end, while the log is kept. Output without since begins 200 lines before the end. NOT_FOUND;
    BAD_INPUT past the end; APPROVAL_NEEDED for others' if agents may read only their own.
    """
    arguments = given(request)
    if request.mode == "screen":
        arguments.pop("since")
    elif request.since is None and request.lines is None:
        arguments["lines"] = 200
    found = await conversation.operate("read_output", **arguments)
    facts = {name: found[name] for name in _FACTS}
    if request.mode == "transcript":
        return Answer({**facts, "messages": found["messages"]}, "")
    return Answer(facts, found["text"])


READ_OUTPUT = Tool(
    "read_output",
    "Read a session's screen or output",
    told(read_output),
    ReadTool,
    None,
    read_output,
    READS,
)


class WaitTool(Request):
    session: str = Field(description="id, name, or a selection: mine,kind:subagent")
    until: str = Field(
        default="ended",
        description="ended; idle (quiet, at no work); waiting (it asks a person); reply (to what was sent last); text=… (it "
        "prints that). Several, with commas: the first that comes",
    )
    first: bool = Field(default=False, description="of several: return at the first that gets there")
    timeout: str = Field(default="50s", description="give up after this: 30s, 10m; the session goes on")
    since: int | None = Field(default=None, ge=0, description="with text=…: from this cursor on, not from now")
    quiet: str = Field(
        default=default_of(WaitSession, "quiet"), description="with idle: so long without output or input"
    )
    approval: str | None = Field(default=None, description=APPROVAL)


_TIMEOUT = "timeout"


class WaitedFor(Result):
    met: str = Field(description="what came true, or timeout")
    sessions: list[dict[str, Any]] = Field(description="id, name, state, met, cursor, exit, failed, reply")
    left_out: int


async def wait_session(conversation: Conversation, request: WaitTool) -> Answer:
    """Wait until a session has ended, is idle, asks a person, has answered or has printed a text; of several, until each has
    or, with first, the first.

    Use it instead of asking again; for the state now use get_session. Changes nothing: a cancel or a timeout
    (met=timeout, with each session's state) stops only the waiting. Many clients give up after 60 s. For the answer to
    what you typed: until reply, or text=… with since = the cursor from send_input. ENDED when it ends first.
    """
    try:
        found = await conversation.operate("wait_session", **given(request))
        met, rows = found["met"], found["sessions"]
    except DeadlineError as error:
        if error.code is not Code.TIMEOUT:
            raise
        late = [{**one, "met": _TIMEOUT} for one in error.details["late"]]
        met, rows = _TIMEOUT, [*error.details["came"], *late]
    rows = [{name: value for name, value in row.items() if value is not None} for row in rows]
    shown = fitting(rows)
    return Answer({"met": met, "sessions": shown, "left_out": len(rows) - len(shown)})


WAIT_SESSION = Tool(
    "wait_session",
    "Wait for a session",
    told(wait_session),
    WaitTool,
    WaitedFor,
    wait_session,
    READS,
)
