"""kiro_chat and kiro_command: say something, and wait for the answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.compat.kiro.engine import LIMIT_PASSED
from lamplighter.compat.kiro.sessions import OR_ACTIVE
from lamplighter.errors import Code, ConflictError, DeadlineError, LampError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool
from lamplighter.operations.operation import Request, Result

OR_MADE = f"{OR_ACTIVE}, and made when there is none"
ACTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
_SHOWN = 2000


class Chat(Request):
    message: str = Field(description="what to say to kiro-cli")
    session_id: str | None = Field(default=None, max_length=100, description=OR_MADE)
    stream: bool = Field(
        default=False, description="send the text as progress while it comes; the result has all of it"
    )


class Reply(Result):
    content: str = Field(description="all that kiro-cli printed")
    session_id: str
    timestamp: str
    is_complete: bool


async def chat(conversation: ToolContext, request: Chat) -> Answer:
    turn = await say(conversation, "chat", request.message, request.session_id)
    done = await finish(conversation, turn, stream=request.stream)
    told = {"content": done["content"], "session_id": done["session_id"], "timestamp": done["ended_at"]}
    return Answer({**told, "is_complete": True})


class Command(Request):
    command: str = Field(description="what kiro-cli reads: a slash command such as /help or /usage, or any text")
    session_id: str | None = Field(default=None, max_length=100, description=OR_MADE)


class Ran(Result):
    success: bool = Field(description="the exit code is 0")
    output: str
    error: str | dict[str, Any] | None = Field(
        description="the end of standard error, if any; code and message when it could not run"
    )
    exit_code: int


async def command(conversation: ToolContext, request: Command) -> Answer:
    told, _ = await run(conversation, request.command, request.session_id)
    return Answer(told)


async def run(conversation: ToolContext, line: str, session: str | None) -> tuple[dict[str, Any], str]:
    """What came of a line that is no part of the conversation, and the session it ran in. That it ended with another status than
    0 is a result; that it did not run to its end is an error."""
    turn = await say(conversation, "command", line, session)
    done = await finish(conversation, turn, stream=False)
    code: int = done["exit_code"]
    told = {"success": code == 0, "output": done["content"], "error": done["errors"] or None, "exit_code": code}
    return told, done["session_id"]


async def say(conversation: ToolContext, kind: str, text: str, session: str | None) -> dict[str, Any]:
    """Begin a turn; exactly one, also when the call is made again after a break."""
    return await conversation.operate(
        "start_kiro_turn",
        message=text,
        session_id=session,
        kind=kind,
        cwd=conversation.client.cwd,
        environment=conversation.client.environment,
        part="say",
    )


async def finish(conversation: ToolContext, turn: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    """Wait for the end of a turn; its result, or the error that says why there is none."""
    task, run = turn["task_id"], turn["run"]
    told = 0

    async def look(_: dict[str, Any]) -> None:
        nonlocal told
        now = await conversation.operate("get_kiro_turn", task_id=task, since=told)
        told = now["total_chunks"]
        if now["chunks"]:
            await conversation.tell(float(told), None, "".join(now["chunks"]))

    if run is not None and stream:
        await conversation.operate("read_output", session=run, mode="output", since=0, follow=True, each=look)
        await conversation.operate("wait_session", session=run)
        await look({})
    elif run is not None:
        await conversation.operate("wait_session", session=run)
    done = await conversation.operate("get_kiro_turn", task_id=task)
    if done["status"] != "completed" and not (done["kind"] == "command" and _ran(done)):
        raise problem(done)
    return done


def _ran(turn: dict[str, Any]) -> bool:
    """To its end, whatever came of it."""
    return turn["status"] == "failed" and turn["exit_code"] is not None and not is_limit(turn["failure"])


def is_limit(failure: str) -> bool:
    return failure.startswith(f"{LIMIT_PASSED}: ")


def problem(turn: dict[str, Any]) -> LampError:
    """Why a turn has no result."""
    details = {name: turn[name] for name in ("session_id", "task_id", "exit_code")}
    details |= {"output": _short(turn["content"] or ""), "error": _short(turn["errors"])}
    failure = turn["failure"] or f"it is {turn['status']}"
    if is_limit(failure):
        return DeadlineError(
            Code.TIMEOUT, f"kiro-cli was ended: {failure}", "ask for less at once; nothing of it is left", **details
        )
    said = turn["errors"].strip().splitlines()
    why = f"{failure}; it said: {said[-1][:300]}" if said else failure
    hint = "the details have what it printed"
    return ConflictError(Code.ENDED, f"kiro-cli did not complete this: {why}", hint, **details)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters in all)"


TOOLS = (
    Tool(
        "kiro_chat",
        "Chat with Kiro",
        "Say something to kiro-cli and wait for the whole answer. It may read, write and run anything in the session's folder: "
        "all its tools are trusted. The conversation goes on from the session's last message. One message at a time: "
        "SESSION_BUSY while another is under way. For long work, or to stop it half-way, use kiro_chat_async. INVALID_MESSAGE "
        "for an empty one, COMMAND_FAILED with what it printed when kiro-cli fails or its session is ended meanwhile, "
        "COMMAND_TIMEOUT when it says nothing for 300 s; nothing of it is left running then.",
        Chat,
        Reply,
        chat,
        ACTS,
    ),
    Tool(
        "kiro_command",
        "Run Kiro command",
        "Give kiro-cli one command (/help, /usage, /tools) in a session and wait for what it prints. It is not part of "
        "the history. For a message to the model use kiro_chat; to clear or save prefer kiro_session_clear and "
        "kiro_session_save. A status other than 0 is a result with success: false. INVALID_COMMAND when it is empty, "
        "COMMAND_FAILED when it was ended from outside, SESSION_BUSY while something runs.",
        Command,
        Ran,
        command,
        ACTS,
    ),
)
