"""Seeing what tmux has: list_sessions, has_session, list_windows, capture_pane. Who may read is decided below."""

from __future__ import annotations

from pydantic import Field

from lamplighter.compat.tmux.names import does_not_exist
from lamplighter.compat.tmux.operations import TmuxWindow, TmuxWindows
from lamplighter.compat.tmux.tool import ByName, Nameless, TmuxTool, server_of
from lamplighter.domain.timestamp import timestamp
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer
from lamplighter.operations.operation import Result

_MOST_LINES = 10_000


class SessionRow(Result):
    name: str
    windows: int
    created_at: str = Field(description="ISO 8601, UTC")
    last_activity_at: str = Field(description="ISO 8601, UTC: the last input or output")
    attached: bool = Field(description="somebody is attached, one client or more")


class Sessions(Result):
    count: int
    sessions: list[SessionRow]


class Existence(Result):
    name: str
    exists: bool


class WindowRow(Result):
    index: int
    name: str
    active: bool
    panes: int


class Windows(Result):
    session: str
    count: int
    windows: list[WindowRow]


class CapturePane(ByName):
    lines: int = Field(
        default=100,
        description="how many lines at most, counted from the last with text; a number out of range counts as the nearest in it",
        json_schema_extra={"minimum": 1, "maximum": _MOST_LINES},
    )


class Captured(Result):
    session: str
    lines: int = Field(description="how many were asked for, within the range")
    text: str


async def list_sessions(conversation: ToolContext, _: Nameless) -> Answer:
    by_session: dict[str, list[TmuxWindow]] = {}
    for window in await _windows(conversation):
        by_session.setdefault(window.session_id, []).append(window)
    rows = [_row(windows) for windows in by_session.values()]
    found = Sessions(count=len(rows), sessions=rows)
    return Answer(found.model_dump())


async def has_session(conversation: ToolContext, request: ByName) -> Answer:
    exists = any(window.session == request.name for window in await _windows(conversation))
    return Answer(Existence(name=request.name, exists=exists).model_dump())


async def list_windows(conversation: ToolContext, request: ByName) -> Answer:
    found = [window for window in await _windows(conversation) if window.session == request.name]
    if not found:
        raise does_not_exist(request.name)
    rows = [WindowRow(index=one.index, name=one.name, active=one.active, panes=one.panes) for one in found]
    result = Windows(session=request.name, count=len(rows), windows=rows)
    return Answer(result.model_dump())


async def capture_pane(conversation: ToolContext, request: CapturePane) -> Answer:
    socket = server_of(conversation).socket
    lines = min(max(request.lines, 1), _MOST_LINES)
    text: str = (await conversation.operate("read_tmux", socket=socket, name=request.name, lines=lines))["text"]
    return Answer(Captured(session=request.name, lines=lines, text=text).model_dump())


async def _windows(conversation: ToolContext) -> list[TmuxWindow]:
    """Of the client's server."""
    found = await conversation.operate("list_tmux_windows", socket=server_of(conversation).socket)
    return TmuxWindows.model_validate(found).windows


def _row(windows: list[TmuxWindow]) -> SessionRow:
    first = windows[0]
    return SessionRow(
        name=first.session,
        windows=len(windows),
        created_at=timestamp(first.created),
        last_activity_at=timestamp(max(window.activity for window in windows)),
        attached=first.attached > 0,
    )


LIST_SESSIONS = TmuxTool(
    "list_sessions",
    "List tmux sessions",
    "List every session of the user's tmux server, those made by hand included: name, number of windows, when it "
    "was made, when it last had input or output, and whether anybody is attached. Start here when you do not know "
    "a name; to check one name use has_session, for what a session shows capture_pane. Anybody may; nothing "
    "changes. With no tmux server the list is empty. Fails only when tmux is not installed or does not answer.",
    Nameless,
    Sessions,
    list_sessions,
    READS,
)
HAS_SESSION = TmuxTool(
    "has_session",
    "Check for a tmux session",
    "Check whether the user's tmux server has a session of exactly this name; a beginning of a name does not "
    "count. Use it before new_session, send_keys or kill_session when you know the name; for all names use "
    "list_sessions. Anybody may; nothing changes. A session that is not there is the answer exists: false, not an "
    "error.",
    ByName,
    Existence,
    has_session,
    READS,
)
LIST_WINDOWS = TmuxTool(
    "list_windows",
    "List tmux windows",
    "List the windows of one tmux session: index, name, whether it is the current one, and how many panes it has. "
    "Use it to see how a session is divided; for the sessions themselves use list_sessions, for text on the "
    "screen capture_pane. Anybody may; nothing changes. Fails when there is no session of exactly this name.",
    ByName,
    Windows,
    list_windows,
    READS,
)
CAPTURE_PANE = TmuxTool(
    "capture_pane",
    "Capture a tmux pane",
    "Read the last lines that a tmux session has shown, scrolled-off history and screen together, as plain text. "
    "Use it after new_session or send_keys to see what came of it, or later to see how far a job is. Of a session "
    "started with new_session it is the pane that send_keys types into, else the active one. Blank lines below "
    "the last text are left out. Nothing changes. Anybody may, unless the operator lets agents read their own alone: then "
    "the error says how to ask, and the same call works once it is granted. Fails when there is no session of exactly this "
    "name: what an ended one showed is gone from tmux.",
    CapturePane,
    Captured,
    capture_pane,
    READS,
)
