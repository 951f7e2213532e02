"""Talking to a session: input, output, waiting, attaching."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.condition import parse_conditions, reads_output
from lamplighter.domain.duration import parse_duration
from lamplighter.domain.permission import Act
from lamplighter.domain.selection import parse_selection
from lamplighter.domain.session import Session
from lamplighter.errors import Code, Hint, MissingError, Use
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, Approval, SessionWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import permitted, readable
from lamplighter.operations.views.common import moment


class SendInput(Request):
    session: SessionWord
    text: str = Field(
        description="text to type, sent literally; with --keys: key names such as Up, C-c or Enter, separated by spaces"
    )
    keys: bool = Field(default=False, description="text is key names")
    enter: bool = Field(default=True, description="press Enter after the text; --keys never does")
    approval: Approval = None


class Sent(Result):
    id: str
    size: int = Field(description="bytes that reached the session")
    cursor: int = Field(description="the output's end before the input: read from here for the answer")


@operation(command="send", group="sessions", positional=("session", "text"), changes=True, act=Act.SEND)
async def send_input(call: Call, request: SendInput) -> Sent:
    """Type into a session. The text is sent literally, then Enter. To an agent it is pasted and submitted once. Fails with
    ACTIVE while an agent shows a dialog, which the text would answer.

    With --keys, TEXT is key names: Up, Enter, C-c, M-x, F5. For the answer: wait, or read with the cursor that send returns.
    """
    session = await permitted(call, Act.SEND, request.session)
    return Sent.model_validate(
        await call.app.session_io.send(
            session, request.text, keys=request.keys, enter=request.enter, by=call.caller, key=call.key
        )
    )


class ReadOutput(Request):
    session: SessionWord
    mode: Literal["screen", "output", "cast", "transcript", "vt"] = Field(
        default="screen",
        description="screen: what a person would see now; output: the log, by cursor; transcript: the agent's "
        "messages, by cursor; cast: a recording for asciinema",
    )
    lines: int | None = Field(
        default=None, ge=1, le=1_000_000, description="only the last N lines; of a transcript, messages"
    )
    since: int | None = Field(
        default=None,
        ge=0,
        lt=1 << 53,
        description="read from this cursor on; a transcript has cursors of its own",
    )
    follow: bool = Field(default=False, description="keep reading until the session has ended")
    limit: int = Field(default=1 << 20, ge=1, le=1 << 23, description="bytes at most", json_schema_extra=HIDDEN)
    approval: Approval = None


class SpokenView(Result):
    """One message of a transcript."""

    role: str = Field(description="user, assistant; tool: one that was used, in one line")
    text: str
    at: str | None
    id: str | None = Field(description="what the agent calls the message; parts of one have the same")
    conversation: str


class Output(Result):
    id: str
    mode: str
    text: str
    cursor: int = Field(description="pass it as since to go on from here")
    more: bool = Field(description="there is more already; read again with the cursor")
    lost: int = Field(description="bytes before this text that rotation or a full disk took")
    exact: bool = Field(default=True, description="false when a screen was rebuilt without its beginning")
    rows: int | None = None
    cols: int | None = None
    at: list[int] | None = Field(default=None, description="the cursor on the screen: column, row, from 0")
    title: str | None = None
    messages: list[SpokenView] | None = Field(default=None, description="of a transcript")
    base64: str | None = Field(default=None, description="the bytes, where they are not text", json_schema_extra=HIDDEN)


@operation(command="read", group="sessions", positional=("session",))
async def read_output(call: Call, request: ReadOutput) -> Output:
    """Read what a session shows or printed: its current screen, or its output from a cursor on.

    Reading by cursor skips nothing and repeats nothing. Where log rotation removed output, read reports the number of lost
    bytes. Ended sessions can be read as long as their log is kept. A transcript is what the agent itself recorded: who said
    what and when, in every conversation of the session.
    """
    session = await readable(call, await call.app.registry.find(request.session))
    if request.mode == "transcript":
        return await _transcript(call, request, session)
    async for page in call.app.session_io.read(
        session, request.mode, request.lines, request.since, request.limit, request.follow
    ):
        if not request.follow:
            return Output.model_validate(page)
        await call.emit(Output.model_validate(page))
    return Output(id=session.id, mode=request.mode, text="", cursor=0, more=False, lost=0)


async def _transcript(call: Call, request: ReadOutput, session: Session) -> Output:
    last: Output | None = None
    async for page in call.app.transcript_reader.read(
        session, request.lines, request.since, request.limit, request.follow
    ):
        for message in page["messages"]:
            message["at"] = moment(message["at"])
        last = Output.model_validate(page)
        if not request.follow:
            return last
        await call.emit(last)
    cursor = last.cursor if last else 0
    return Output(id=session.id, mode=request.mode, text="", messages=[], cursor=cursor, more=False, lost=0)


class WaitSession(Request):
    session: str = Field(description="id, unique prefix of an id, name, or a selection: cron:*, mine,kind:subagent")
    until: str | list[str] = Field(
        default="ended",
        description="ended; idle (quiet, not working, and not waiting for what it started); waiting (it asks a "
        "person); reply (it answered what was sent last); text=… (it printed this since the last input). "
        "Several with commas: the first to come true",
    )
    timeout: str | None = Field(default=None, description="give up after this long: 5, 5s, 30m, 8h")
    since: int | None = Field(
        default=None, ge=0, description="with text=…: search from this cursor on, not from the last input"
    )
    quiet: str = Field(default="2s", description="with idle or reply: how long without output or input")
    first: bool = Field(default=False, description="of several sessions, wait for the first instead of all")
    ids: list[str] | None = Field(
        default=None,
        max_length=100_000,
        description="going on after a break: the sessions that the selection meant at first",
        json_schema_extra=HIDDEN,
    )
    approval: Approval = None


class WaitedFor(Result):
    """The sessions that are waited for, as the first item that comes: what a selection means changes with time."""

    ids: list[str]


class WaitedOne(Result):
    id: str
    name: str
    state: str
    met: str = Field(description="what came true")
    cursor: int
    exit: dict[str, Any] | None
    failed: bool = Field(description="it ended badly (another status than 0, a signal, lost), or its turn was not done")
    asks: str | None = Field(default=None, description="with idle or waiting: what it asks a person, if it does")
    reply: str | None = Field(default=None, description="with reply: what it answered")
    turn: str | None = Field(
        default=None, description="with reply: done, interrupted, failed; ended: it ended before it was done"
    )
    source: str | None = Field(default=None, description="with reply: transcript, or output where there is none")


class Waited(Result):
    """Of one session what `WaitedOne` says of it; of several only what came true, and the list."""

    id: str | None
    name: str | None
    state: str | None
    met: str = Field(description="what came true")
    cursor: int | None
    exit: dict[str, Any] | None
    failed: bool = Field(description="at least one of them ended badly, or its turn was not done")
    asks: str | None = None
    reply: str | None = None
    turn: str | None = None
    source: str | None = None
    sessions: list[WaitedOne] = Field(description="each that was waited for")


@operation(command="wait", group="sessions", positional=("session",))
async def wait_session(call: Call, request: WaitSession) -> Waited:
    """Wait until a session has ended, is idle, asks a person, has answered or has printed a text. Changes nothing.

    A word that names a session means that session. Anything else is a selection: wait covers all sessions that match when it
    is called. It returns when the condition holds for each of them, or with --first for one. Fails with TIMEOUT when the
    timeout passes, and with ENDED when a session ends before it is idle or has printed the text.
    """
    timeout = None if request.timeout is None else parse_duration(request.timeout, "timeout")
    quiet = parse_duration(request.quiet, "quiet")
    conditions = parse_conditions(request.until)
    chosen = await _waited_for(call, request)
    if any(map(reads_output, conditions)):
        call.approvable = (
            call.approvable and len(chosen) == 1
        )  # the operator is asked about one session, never about many
        for session in chosen:
            await readable(call, session)
    if len(chosen) > 1:
        await call.emit(WaitedFor(ids=[session.id for session in chosen]))
    found = await call.app.waiting.wait_for_all(chosen, conditions, timeout, request.since, quiet, first=request.first)
    alone = found[0] if len(found) == 1 else dict.fromkeys(WaitedOne.model_fields) | _of_many(found)
    return Waited.model_validate({**alone, "sessions": found})


def _of_many(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "met": ",".join(dict.fromkeys(one["met"] for one in found)),
        "failed": any(one["failed"] for one in found),
    }


async def _waited_for(call: Call, request: WaitSession) -> list[Session]:
    """The sessions that are meant: those of before, the one of this name or id, or all that match."""
    if request.ids is not None:
        return [await call.app.registry.find(identifier) for identifier in request.ids]
    try:
        return [await call.app.registry.find(request.session)]
    except MissingError as error:
        # A blank word is a variable that was not set, never the wish to wait for everything.
        if error.code is not Code.NOT_FOUND or not request.session.strip():
            raise
    before = await call.app.execution.remembered(call)
    if before:
        return [await call.app.registry.find(identifier) for identifier in before]
    selection = parse_selection(request.session)
    found = await call.app.selector.choose(selection, call.caller)
    if not found:
        raise MissingError(
            Code.NOT_FOUND,
            f"no session matches {request.session[:60]!a}",
            Hint(Use("ls"), " with the same selection shows what matches; ", Use("ls"), " alone shows all"),
        )
    await call.app.execution.remember(call, [one.session.id for one in found])
    return [one.session for one in found]


class AttachSession(Request):
    session: SessionWord
    rows: int | None = Field(
        default=None, ge=1, le=1000, description="height of the terminal", json_schema_extra=HIDDEN
    )
    cols: int | None = Field(default=None, ge=1, le=1000, description="width of the terminal", json_schema_extra=HIDDEN)
    read_only: bool = Field(default=False, description="watch without typing")
    bound: bool = Field(default=False, description="the session ends with this client", json_schema_extra=HIDDEN)


class Attached(Result):
    id: str
    name: str
    state: str
    offset: int = Field(description="where the live output begins; the screen stands for all before it")
    rows: int
    cols: int
    screen: str = Field(description="bytes, as base64, that draw the screen as it is", json_schema_extra=HIDDEN)


@operation(command="attach", group="sessions", positional=("session",), act=Act.SEND)
async def attach_session(call: Call, request: AttachSession) -> Attached:
    """Attach this terminal to a session; others can attach too. Detach with Ctrl-\\ ; the session goes on.

    You stay attached when the daemon stops. A session with people attached counts as active.
    """
    session = await permitted(call, Act.SEND, request.session)
    attached, descriptor = await call.app.session_io.attach(
        session, request.rows, request.cols, read_only=request.read_only, bound=request.bound, by=call.caller
    )
    call.pass_descriptor(descriptor)
    return Attached.model_validate(attached)
