"""What an agent's hooks tell. On no command line and no tool list: `lamp hook`, which agents run, speaks to these."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from pydantic import Field

from lamplighter.agents import agent_named, names_with
from lamplighter.agents.formats.hooks import COMPACT, START
from lamplighter.domain.permission import Act
from lamplighter.engine.service.agent_hooks import Hook
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Nothing, Request, Result, operation
from lamplighter.operations.permission import allowed

_LONGEST = 4 << 20


class HookWord(Request):
    agent: str = Field(min_length=1, max_length=40, description="whose hook it is")
    said: str = Field(default="", max_length=_LONGEST, description="what it read on standard input, in hexadecimal")


class AgentEvent(HookWord):
    event: Literal["start", "compact", "end"]


class Heard(Result):
    output: str = Field(default="", description="what the hook prints, and nothing else")
    session: str | None = Field(default=None, description="the session that it is of; none when the agent is in none")


@operation(command=None, group="sessions", changes=True, act=Act.HAND_OFF)
async def agent_event(call: Call, request: AgentEvent) -> Heard:
    """An agent's conversation starts, is about to be compacted, or ends. At its start it is answered what it should know."""
    hook = _hook(call, request)
    if hook is None:
        return Heard()
    if request.event == START:
        text = await call.app.agent_hooks.start(hook)
        return Heard(output=hook.hooks.answer(text) if text else "", session=hook.session)
    if request.event == COMPACT:
        await call.app.agent_hooks.compact(hook, call.key)
    else:
        await call.app.agent_hooks.end(hook, call.key)
    return Heard(session=hook.session)


@operation(command=None, group="sessions", act=Act.HAND_OFF)
async def agent_turn(call: Call, request: HookWord) -> Heard:
    """An agent's turn is over. Nothing is stored: it comes with every turn."""
    hook = _hook(call, request)
    if hook is None:
        return Heard()
    call.app.agent_hooks.turn_over(hook)
    return Heard(session=hook.session)


class Allowed(Result):
    """Nothing to tell: a refusal is an error."""


@operation(command=None, group="machine")
async def may_install(call: Call, _: Nothing) -> Allowed:
    """Whether the caller may change how agents are set up. For the command that does it, and works without a daemon too."""
    await allowed(call, Act.INSTALL)
    return Allowed()


def _hook(call: Call, request: HookWord) -> Hook | None:
    """None for an agent that is in no session."""
    hooks = agent_named(request.agent).hooks
    if hooks is None:
        raise InputError(
            Code.BAD_INPUT,
            f"no hooks of {request.agent!a} are known",
            f"there are those of {', '.join(names_with('hooks'))}",
        )
    told = hooks.read(_document(request.said))
    if call.caller.session is None:
        return None
    return Hook(call.caller.session, hooks, told, call.caller)


def _document(said: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(bytes.fromhex(said) or b"{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            Code.BAD_INPUT, "what the hook was given is no JSON object", "look at how the agent's hook is set up"
        )
    return cast("dict[str, Any]", found)
