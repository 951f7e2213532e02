"""What a session that is to speak ACP is started with: the agent's own command for it, and how the talk begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lamplighter.agents.structured import STRUCTURED, Structured, speaker, structured
from lamplighter.domain.exchange import Talk
from lamplighter.domain.limits import choose
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.errors import Code, InputError, MissingError
from lamplighter.lifecycle.launch.request import Launch
from lamplighter.operations.call import Call

if TYPE_CHECKING:
    from lamplighter.operations.spawn import SpawnAgent
    from lamplighter.operations.start import StartSession

LAST = "last"


@dataclass(frozen=True, slots=True)
class Speaking:
    """`agent` is None where a command is of no agent that is known."""

    command: tuple[str, ...]
    agent: str | None
    talk: Talk


async def speaking(call: Call, request: StartSession, environment: Mapping[str, str]) -> Speaking:
    """The caller's own command where it names no agent, or one that is not known."""
    command = tuple(request.command)
    known = structured(request.agent) if request.agent else None
    if known is not None:
        command = (*known.command, *command)
    elif not command:
        raise InputError(
            Code.NO_SUCH_PROGRAM if request.agent else Code.EMPTY_COMMAND,
            f"Lamplighter does not know how {(request.agent or 'an agent')[:40]!a} is started to speak ACP",
            f"name one of {', '.join(STRUCTURED)}; or give the command: lamp start --acp -- COMMAND",
        )
    agent = request.agent or speaker(command)
    resume = await conversation_of(call, agent, request.resume) if request.resume else None
    begun = talk(known or (structured(agent) if agent else None), environment, resume, request.prompt)
    return Speaking(command, agent, replace(begun, model=request.model))


def talk(known: Structured | None, environment: Mapping[str, str], resume: str | None, prompt: str | None) -> Talk:
    logins = tuple(method for variable, method in known.logins.items() if environment.get(variable)) if known else ()
    return Talk(resume, prompt, logins, known.heeds_eof if known else True)


async def spawn_structured(call: Call, request: SpawnAgent, agent: str) -> dict[str, str]:
    """A sub-agent that is spoken to over ACP: told its task as the first prompt; one that does not stay leaves when it is done.
    What it asks permission for is asked of the operator."""
    known = structured(agent)
    if known is None:
        names = ", ".join(STRUCTURED)
        raise InputError(
            Code.NO_SUCH_PROGRAM, f"Lamplighter does not know how {agent[:40]!a} speaks ACP", f"name one of {names}"
        )
    environment = request.environment or {}
    session = await launch_talk(
        call,
        known.command,
        replace(talk(known, environment, None, request.task), once=not request.stays, model=request.model),
        agent=agent,
        environment=environment,
        cwd=request.cwd,
        kind=Kind.SUBAGENT,
        max_age=request.max_age,
        labels=tuple(request.label),
        aliases=request.aliases,
        discard=request.discard,
    )
    return {"id": session.id, "name": session.name, "agent": agent, "state": session.state.value}


async def launch_talk(
    call: Call,
    command: tuple[str, ...],
    talk: Talk,
    *,
    agent: str,
    environment: dict[str, str],
    cwd: str | None,
    name: str | None = None,
    kind: Kind = Kind.TASK,
    max_age: str | None = None,
    idle_limit: str | None = None,
    labels: tuple[str, ...] = (),
    aliases: Mapping[str, str] | None = None,
    discard: bool = False,
) -> Session:
    """A session that speaks ACP, under the call's own key."""
    launch = Launch(
        command=command,
        name=name,
        kind=kind,
        cwd=cwd,
        environment=environment,
        driver=Driver.ACP,
        limits=choose(call.app.settings.limits_for(kind), idle_limit, max_age, None),
        agent=agent,
        labels=labels,
        aliases=aliases or {},
        discard=discard,
        talk=talk,
    )
    return await call.app.launcher.launch(launch, call.caller, call.key, repeated=call.repeated)


async def conversation_of(call: Call, agent: str | None, word: str) -> str:
    """The conversation that a session was in; else the word is taken for the agent's own id of one."""
    if word == LAST:
        await call.app.nameable(call.caller, "the agent's last conversation")
        return word
    known = await call.app.conversations.session_in(agent, word) if agent else None
    if known is not None:
        await call.app.readable(call, await call.app.fleet.by_id(known))
        return word
    try:
        session = await call.app.readable(call, await call.app.find(word))
    except MissingError:
        return word
    return session.conversation.get("id") or word
