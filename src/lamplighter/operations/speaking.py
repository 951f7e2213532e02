"""What a session that is to speak ACP is started with: the agent's own command for it, and how the talk begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamplighter.agents.structured import STRUCTURED, Structured, speaker, structured
from lamplighter.domain.exchange import Talk
from lamplighter.errors import Code, InputError, MissingError
from lamplighter.operations.call import Call

if TYPE_CHECKING:
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
    resume = await conversation_of(call, request.resume) if request.resume else None
    return Speaking(
        command, agent, talk(known or (structured(agent) if agent else None), environment, resume, request.prompt)
    )


def talk(known: Structured | None, environment: Mapping[str, str], resume: str | None, prompt: str | None) -> Talk:
    logins = tuple(method for variable, method in known.logins.items() if environment.get(variable)) if known else ()
    return Talk(resume, prompt, logins, known.heeds_eof if known else True)


async def conversation_of(call: Call, word: str) -> str:
    """The conversation that a session was in; else the word is taken for the agent's own id of one."""
    if word == LAST:
        return word
    try:
        session = await call.app.find(word)
    except MissingError:
        return word
    return session.conversation.get("id") or word
