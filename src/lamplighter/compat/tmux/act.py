"""Acting on tmux sessions: new_session, send_keys, kill_session. Each is an operation; who may is decided there."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
from contextlib import suppress
from typing import Any

from pydantic import Field

from lamplighter.compat.tmux.tool import ByName, TmuxTool, check_new_name, server_of
from lamplighter.domain.keys import is_combination
from lamplighter.domain.permission import Act
from lamplighter.engine.backends.tmux.server import server_for
from lamplighter.errors import (
    Code,
    ConflictError,
    DeadlineError,
    InputError,
    LampError,
    SurvivorsError,
    UnavailableError,
)
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints
from lamplighter.operations.operation import Result
from lamplighter.operations.permission import admitted

_READY = "5s"  # a shell whose start takes longer gets the command while it starts, and reads it then
_QUIET = "0.1s"
_SETTLE = "0.5s"  # what ends the shell at once has ended it by then, as a rule
_KILL_FAILED = "tmux kill-session failed: "
_PLAIN = frozenset({"NOT_FOUND", "FORBIDDEN", "APPROVAL_NEEDED", "APPROVAL_USED", "APPROVAL_EXPIRED"})


class NewSession(ByName):
    command: str | None = Field(
        default=None,
        description="typed into the session's shell, with Enter: aliases and functions of the shell's start files work in it, "
        "and cd and export last. None: the shell alone",
    )
    cwd: str | None = Field(default=None, description="the folder to start in, absolute; by default the client's own")


class Made(Result):
    name: str
    cwd: str
    command: str = Field(description="what was typed; without a command, the shell that runs")
    status: str = Field(
        description="of the session: running; or, when its shell left at once: exited with code N, ended by SIGNAL"
    )
    hint: str = Field(description="how to attach, and what to call next")


class SendKeys(ByName):
    keys: str = Field(
        min_length=1,
        description="a key (C-c, C-d, C-M-x, M-Left, Escape), or text, which is typed as it is: Up and Enter are words. "
        "What only looks like a key is typed in two calls",
    )
    enter: bool = Field(default=True, description="press Enter after it; false for a key alone")


class Typed(Result):
    session: str
    keys: str
    enter: bool


class Killed(Result):
    session: str
    killed: bool = Field(
        description="true: nothing of it is left. False only for your own session, which ends after your turn"
    )


async def new_session(conversation: ToolContext, request: NewSession) -> Answer:
    check_new_name(request.name)
    client = conversation.client
    await admitted(conversation.app, client.caller, Act.READ)  # its result is what is read: refused before, not after
    shell, line = _shell(client.environment or os.environ), (request.command or "").strip()
    _refuse_nul(line)
    started = await _start(conversation, request, [shell])
    typed = not line or await _typed(conversation, started["id"], line)
    session = await _settled(conversation, started["id"])
    status = _status(session)
    hint = _hint(conversation, request.name, alive=session["state"] != "ended")
    made = Made(
        name=request.name,
        cwd=session["cwd"],
        command=line or shell,
        status=status,
        hint=hint if typed else f"Whether the command was typed is not known: it was interrupted just then. {hint}",
    )
    return Answer(made.model_dump())


def _refuse_nul(line: str) -> None:
    if "\0" in line:
        raise InputError(Code.BAD_INPUT, "the command contains a NUL character", "leave it out; nothing was done")


async def _start(conversation: ToolContext, request: NewSession, command: list[str]) -> dict[str, Any]:
    client = conversation.client
    try:
        return await conversation.operate(
            "start_session",
            command=command,
            tmux=True,
            tmux_name=request.name,
            cwd=request.cwd or client.cwd,
            environment=client.environment,
            part="start",
        )
    except ConflictError as error:
        if error.code is not Code.NAME_TAKEN:
            raise
        raise ConflictError(Code.NAME_TAKEN, f'session "{request.name}" already exists', "") from None


async def _typed(conversation: ToolContext, session: str, line: str) -> bool:
    """The command, given to the shell once that is at its prompt. False when a crash has left open whether it was typed."""
    with suppress(DeadlineError, ConflictError):
        await conversation.operate("wait_session", session=session, until="idle", quiet=_QUIET, timeout=_READY)
    try:
        await conversation.operate("send_input", session=session, text=line, part="command")
    except ConflictError:
        pass  # the shell has left, which is what the status says
    except UnavailableError as error:
        if error.code is not Code.OUTCOME_UNKNOWN:
            raise
        return False
    return True


async def _settled(conversation: ToolContext, session: str) -> dict[str, Any]:
    """What has become of it, looked at and not assumed."""
    with suppress(DeadlineError):
        await conversation.operate("wait_session", session=session, until="ended", timeout=_SETTLE)
    return await conversation.operate("get_session", session=session)


def _status(session: dict[str, Any]) -> str:
    if session["state"] != "ended":
        return "running"
    found: dict[str, Any] = session["exit"] or {}
    if found.get("signal") is not None:
        return f"ended by {found['signal']}"
    return "exited" if found.get("code") is None else f"exited with code {found['code']}"


def _shell(environment: Any) -> str:
    """The user's own, as tmux finds it."""
    try:
        entry = pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        entry = ""
    named = (environment.get("SHELL", ""), entry)
    return next((shell for shell in named if os.path.isabs(shell) and shutil.which(shell)), "/bin/sh")


def _hint(conversation: ToolContext, name: str, *, alive: bool) -> str:
    if not alive:
        return "The session is over; lamp show says how it ended."
    socket = server_of(conversation).socket
    usual = [] if socket == server_for({}).socket else ["-S", socket]
    attach = shlex.join(["tmux", *usual, "attach", "-t", f"={name}"])
    return f"To attach: {attach}. Next: capture_pane to see its output, send_keys to type, kill_session to end it."


async def send_keys(conversation: ToolContext, request: SendKeys) -> Answer:
    socket = server_of(conversation).socket
    pressed = is_combination(request.keys)
    await conversation.operate(
        "type_in_tmux",
        socket=socket,
        name=request.name,
        text=request.keys,
        keys=pressed,
        enter=request.enter,
        part="type",
    )
    return Answer(Typed(session=request.name, keys=request.keys, enter=request.enter).model_dump())


async def kill_session(conversation: ToolContext, request: ByName) -> Answer:
    socket = server_of(conversation).socket
    try:
        found = await conversation.operate("kill_tmux", socket=socket, name=request.name, part="kill")
    except LampError as error:
        if error.code.value in _PLAIN:
            raise
        raise type(error)(error.code, f"{_KILL_FAILED}{error.message}", error.advice, **error.details) from None
    if found["survivors"]:
        raise survivors(found["survivors"])
    killed = found["state"] == "ended"
    return Answer(Killed(session=request.name, killed=killed).model_dump())


def survivors(left: list[dict[str, Any]]) -> SurvivorsError:
    shown = ", ".join(f"{one['pid']} ({one['command'][:60]}: {one.get('why', 'alive')})" for one in left[:10])
    return SurvivorsError(
        Code.SURVIVORS,
        f"{_KILL_FAILED}{len(left)} of its processes are alive, and are killed again and again: {shown}",
        "",
    )


_STARTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)
_TYPES = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
_KILLS = Hints(read_only=False, destructive=True, idempotent=False, open_world=False)

NEW_SESSION = TmuxTool(
    "new_session",
    "New tmux session",
    "Start a detached session on the user's tmux server with a shell in it, and type a command into that shell. "
    "The session stays when the command is done, when you leave and when the connection breaks, until its shell "
    "exits or kill_session; it is yours to type into and to kill. Use it for jobs that outlive a conversation; to "
    "run more in a session that is there, use send_keys. The status is looked at after half a second; what the command "
    "prints and whether it failed shows capture_pane. Destroys nothing. Fails, leaving nothing behind, when the name is "
    "taken (by anybody), the folder does not exist, or tmux refuses; of two calls at once for a name one wins.",
    NewSession,
    Made,
    new_session,
    _STARTS,
)
SEND_KEYS = TmuxTool(
    "send_keys",
    "Send keys to a tmux session",
    "Type text into a tmux session as a person would, or press a key (C-c, C-d, Escape), then Enter unless enter is "
    "false. Use it to run, answer or interrupt something in a session that is there; read the answer with "
    "capture_pane; to begin one use new_session, to end one kill_session. What is typed may destroy what that "
    "shell may destroy. You may type into what you started; other sessions, those made by hand too, need the "
    "operator's word: the error says how, and the same call then works. Fails when there is no session of exactly "
    "this name.",
    SendKeys,
    Typed,
    send_keys,
    _TYPES,
)
KILL_SESSION = TmuxTool(
    "kill_session",
    "Kill tmux session",
    "Kill a tmux session with every window and every process it started, nohup and setsid ones too: HUP first, "
    "then TERM, then KILL. Active or not, unsaved work in it is lost; its record and log stay (lamp show). "
    "killed: true means that nothing is left. To stop only the command in it, press C-c with send_keys. You may "
    "kill what you started; other sessions, those made by hand too, need the operator's word: the error says how, "
    "and the same call then works. Fails when there is no session of exactly this name, or naming the processes "
    "that do not die.",
    ByName,
    Killed,
    kill_session,
    _KILLS,
)
