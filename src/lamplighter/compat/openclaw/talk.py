"""Giving sessions something to do: sessions_send, sessions_spawn."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lamplighter.compat.openclaw.keys import NAMESPACE, run_id
from lamplighter.compat.openclaw.operations import KeyedSession
from lamplighter.compat.openclaw.rows import found
from lamplighter.domain.text.echo import without_echo
from lamplighter.domain.text.output_tail import plain
from lamplighter.engine.service.callers import program_of
from lamplighter.errors import Code, ForbiddenError, LampError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool
from lamplighter.operations.operation import Request, Result

_REPLY_ROOM = 60_000
_CUT = "[the beginning is left out: sessions_history has it]\n"


class SessionsSend(Request):
    sessionKey: str = Field(min_length=1, max_length=200, description="its key; also its id or name in Lamplighter")
    message: str = Field(min_length=1, max_length=1 << 20, description="typed as it is, then Enter")
    timeoutSeconds: float = Field(
        default=30, ge=0, le=3600, description="how long to wait for the reply; 0 does not wait at all"
    )


class SessionsSent(Result):
    status: Literal["accepted", "ok", "timeout", "error", "forbidden"] = Field(
        description="accepted: typed, not waited for; ok: it replied and rests, or has ended; timeout: typed, still at it"
    )
    runId: str
    sessionKey: str
    reply: str | None = Field(default=None, description="what it printed since, so far")


async def sessions_send(conversation: ToolContext, request: SessionsSend) -> Answer:
    session = await found(conversation, request.sessionKey)
    sent = await conversation.operate("send_input", session=session.id, text=request.message, part="send")
    answer: dict[str, Any] = {"status": "accepted", "runId": run_id(conversation.key), "sessionKey": session.key}
    if request.timeoutSeconds == 0:
        return Answer(answer)
    if not session.readable:
        return Answer(answer)
    try:
        told = await _told(conversation, session, request.timeoutSeconds)
        rests = told is not None
        answer["reply"] = told or await _reply(conversation, session, sent["cursor"], request.message)
    except ForbiddenError:  # who may send may not read; it is typed all the same, and must not look as if it were not
        return Answer(answer)
    return Answer({**answer, "status": "ok" if rests else "timeout"})


async def _told(conversation: ToolContext, session: KeyedSession, seconds: float) -> str | None:
    """What it answered, by its transcript; "" where it keeps none and came to rest, or ended; None when it was late."""
    try:
        waited = await conversation.operate(
            "wait_session", session=session.id, until="reply", timeout=f"{seconds:.3f}s"
        )
    except LampError as error:
        if error.code is Code.TIMEOUT:
            return None
        if error.code is not Code.ENDED:
            raise
        return ""
    return str(waited["reply"]) if waited["source"] == "transcript" else ""


async def _reply(conversation: ToolContext, session: KeyedSession, cursor: int, message: str) -> str:
    """All that it printed since, at most so much of it, without the terminal's echo of what was typed."""
    if not session.logged:
        shown = await conversation.operate("read_output", session=session.id)
        return str(shown["text"])[-_REPLY_ROOM:]
    parts, more, cut = list[str](), True, False
    while more:
        page = await conversation.operate("read_output", session=session.id, mode="output", since=cursor)
        parts.append(page["text"])
        more, cursor = page["more"], page["cursor"]
        if sum(map(len, parts)) > 4 * _REPLY_ROOM:
            parts, cut = ["".join(parts)[-2 * _REPLY_ROOM :]], True
    text = plain("".join(parts).encode())
    if not cut:
        text = without_echo(text, message, session.echo)
    return text if len(text) <= _REPLY_ROOM and not cut else _CUT + text[-_REPLY_ROOM:]


class SessionsSpawn(Request):
    task: str = Field(
        min_length=1, max_length=1 << 20, description="what the new agent is to do, in full: it knows nothing else"
    )
    label: str | None = Field(default=None, min_length=1, max_length=100, description="a word to find it by")
    agentId: str | None = Field(
        default=None,
        max_length=100,
        description="which agent, by its name in the operator's settings; yours if left out",
    )
    model: str | None = Field(default=None, min_length=1, max_length=200, description="the model that it is to use")
    runTimeoutSeconds: float | None = Field(
        default=None, ge=0, le=1e8, description="it is warned, then ended when it is older than this; 0 for never"
    )
    cwd: str | None = Field(default=None, max_length=4096, description="the folder it starts in; yours if left out")
    mode: Literal["run", "session"] = Field(
        default="run", description="run: does the task and leaves; session: stays on a terminal for more"
    )
    runtime: Literal["subagent", "acp"] = Field(
        default="subagent",
        description="acp: over the Agent Client Protocol; what it asks leave for, the operator grants",
    )
    cleanup: Literal["delete", "keep"] = Field(
        default="keep", description="delete: its log goes as soon as it has ended, its reply too"
    )


class SessionsSpawned(Result):
    status: Literal["accepted", "timeout", "error", "forbidden"]
    runId: str
    childSessionKey: str
    sessionId: str = Field(description="its id in Lamplighter")


async def sessions_spawn(conversation: ToolContext, request: SessionsSpawn) -> Answer:
    run, client = run_id(conversation.key), conversation.client
    agent = request.agentId or program_of(conversation.app.registry, conversation.caller)
    key = f"agent:{(agent or 'main').replace(':', '-')}:subagent:{run}"
    limit = request.runTimeoutSeconds
    spawned = await conversation.operate(
        "spawn_agent",
        task=request.task,
        agent=agent,
        model=request.model,
        stays=request.mode == "session",
        structured=request.runtime == "acp",
        discard=request.cleanup == "delete",
        max_age=None if limit is None else "none" if limit == 0 else f"{limit:.3f}s",
        label=[request.label] if request.label else None,
        aliases={NAMESPACE: key},
        cwd=request.cwd or client.cwd,
        environment=client.environment,
        part="spawn",
    )
    answer = {"status": "accepted", "runId": run, "childSessionKey": key, "sessionId": spawned["id"]}
    return Answer(answer)


SEND = Tool(
    "sessions_send",
    "Send a message to a session",
    "Type a message into a session of yours, then Enter, and wait for the reply: what it prints until it rests or "
    "ends. With timeoutSeconds 0 it comes back at once with status accepted; timeout means typed but still at work: "
    "read on with sessions_history, do not send again. To start another agent use sessions_spawn. You may send to the "
    "sessions you started and theirs; anybody else's needs the operator. Fails with NOT_FOUND, with ENDED for a "
    "session that is over (its key is never used again), and with status forbidden for what is not yours.",
    SessionsSend,
    SessionsSent,
    sessions_send,
    Hints(read_only=False, destructive=False, idempotent=False, open_world=True),
)
SPAWN = Tool(
    "sessions_spawn",
    "Spawn a sub-agent",
    "Start an agent with a task as a session of its own, your child, and come back at once with its key. Everything "
    "that it starts belongs to it and ends with it. Its output is read with sessions_history; mode session stays for "
    "sessions_send, mode run gets no more input. It is yours to kill and clean up. How each agent is started is in "
    "the operator's settings ([agents.NAME]): NO_SUCH_PROGRAM names those that there are. Other failures, each with "
    "nothing left behind: NO_SUCH_FOLDER, START_FAILED, TOO_MANY (living ones alone count).",
    SessionsSpawn,
    SessionsSpawned,
    sessions_spawn,
    Hints(read_only=False, destructive=False, idempotent=False, open_world=True),
)
