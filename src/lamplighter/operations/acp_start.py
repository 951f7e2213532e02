"""What a session that is to speak ACP is started with: the agent's own command for it, and how the talk begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lamplighter.agents import agent_named, names_with
from lamplighter.agents.formats.acp import AcpCommand, speaker
from lamplighter.domain.memory.exchange import Talk
from lamplighter.errors import Code, Hint, InputError, MissingError, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.call import Call
from lamplighter.operations.permission import nameable, readable

if TYPE_CHECKING:
    from lamplighter.operations.start import StartSession

LAST = "last"


@dataclass(frozen=True)
class AcpStart:
    """`agent` is None where a command is of no agent that is known."""

    command: tuple[str, ...]
    agent: str | None
    talk: Talk


async def speaking(call: Call, request: StartSession, environment: Mapping[str, str]) -> AcpStart:
    """The caller's own command where it names no agent, or one that is not known."""
    command = tuple(request.command)
    known = agent_named(request.agent).acp if request.agent else None
    if known is not None:
        command = (*known.command, *command)
    elif not command:
        raise InputError(
            Code.NO_SUCH_PROGRAM if request.agent else Code.EMPTY_COMMAND,
            f"Lamplighter does not know how {(request.agent or 'an agent')[:40]!a} is started to speak ACP",
            Hint(
                f"name one of {', '.join(names_with('acp'))}; or give the command: ",
                Use("start", acp=True, command=("COMMAND",)),
            ),
        )
    agent = request.agent or speaker(command)
    resume = await conversation_of(call, agent, request.resume) if request.resume else None
    begun = talk(known or (agent_named(agent).acp if agent else None), environment, resume, request.prompt)
    return AcpStart(command, agent, replace(begun, model=request.model))


def talk(known: AcpCommand | None, environment: Mapping[str, str], resume: str | None, prompt: str | None) -> Talk:
    logins = tuple(method for variable, method in known.logins.items() if environment.get(variable)) if known else ()
    return Talk(resume, prompt, logins, known.heeds_eof if known else True)


async def conversation_of(call: Call, agent: str | None, word: str) -> str:
    """The conversation that a session was in; else the word is taken for the agent's own id of one."""
    if word == LAST:
        await nameable(call, "the agent's last conversation")
        return word
    known = await call.app.conversations.session_in(agent, word) if agent else None
    if known is not None:
        await readable(call, await call.app.registry.by_id(known))
        return word
    try:
        session = await readable(call, await call.app.registry.find(word))
    except MissingError:
        return word
    return session.conversation.get("id") or word
