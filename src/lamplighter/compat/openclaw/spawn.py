"""Giving an agent a task: a session of its own, a child of whoever asks. On no command line: sessions_spawn is made from it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pydantic import Field

from lamplighter.agents import agent_named, names_with, unmarked
from lamplighter.agents.formats.commands import unknown
from lamplighter.domain.limits import choose
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Driver, Kind
from lamplighter.engine.service.callers import program_of
from lamplighter.engine.start.command_planner import StartWish
from lamplighter.engine.start.start_request import Launch
from lamplighter.errors import Code, InputError
from lamplighter.operations.acp_start import talk
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Environment
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views.common import StateWord


class SpawnAgent(Request):
    task: str = Field(min_length=1, max_length=1 << 20, description="what it is to do")
    agent: str | None = Field(default=None, description="which agent, by its name; by default the caller's own program")
    model: str | None = Field(default=None, description="the model that it is to use")
    stays: bool = Field(default=False, description="on a terminal, and there for more when the task is done")
    structured: bool = Field(default=False, description="over the Agent Client Protocol, where the agent speaks it")
    discard: bool = Field(default=False, description="its log goes as soon as it has ended")
    max_age: str | None = Field(default=None, description="end it when it is older than this")
    label: list[str] = Field(default_factory=list, max_length=20, description="words to find it by")
    aliases: dict[str, str] = Field(default_factory=dict, max_length=10, description="what others call it")
    cwd: str | None = Field(default=None, description="the folder it starts in")
    environment: Environment = None


class Spawned(Result):
    id: str
    name: str
    agent: str
    state: StateWord


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def spawn_agent(call: Call, request: SpawnAgent) -> Spawned:
    """Start an agent with a task, as a sub-agent of the caller's session. How it is started is known, or in the settings.

    A command that has no place for the task gets it on its standard input, and one that does not stay the end of it.
    """
    agent = request.agent or program_of(call.app.registry, call.caller)
    if agent is None:
        raise unknown(
            f"what agent {call.caller.name} is cannot be told, to start another like it", call.app.settings.agents
        )
    if request.structured:
        return await _spawn_structured(call, request, agent)
    environment = unmarked(request.environment or {})
    wish = StartWish(agent, (), environment, headless=not request.stays, prompt=request.task, model=request.model)
    limits = choose(call.app.settings.limits_for(Kind.SUBAGENT), None, request.max_age, None)
    launch = Launch(
        command=(),
        kind=Kind.SUBAGENT,
        cwd=request.cwd,
        environment=environment,
        driver=Driver.TERMINAL if request.stays else Driver.HEADLESS,
        limits=limits,
        agent=agent,
        labels=tuple(request.label),
        aliases=request.aliases,
        discard=request.discard,
        find_order=partial(call.app.ordering.order, wish, caller=call.caller),
    )
    session = await call.app.launcher.launch(launch, call.caller, call.key, repeated=call.repeated)
    await call.app.session_io.tell(session, call.caller, f"{call.key}/task")
    return Spawned.showing(session, agent=agent)


async def _spawn_structured(call: Call, request: SpawnAgent, agent: str) -> Spawned:
    """A sub-agent that is spoken to over ACP: told its task as the first prompt; one that does not stay leaves when it is done.
    What it asks permission for is asked of the operator."""
    known = agent_named(agent).acp
    if known is None:
        names = ", ".join(names_with("acp"))
        raise InputError(
            Code.NO_SUCH_PROGRAM, f"Lamplighter does not know how {agent[:40]!a} speaks ACP", f"name one of {names}"
        )
    environment = request.environment or {}
    launch = Launch(
        command=known.command,
        environment=environment,
        driver=Driver.ACP,
        kind=Kind.SUBAGENT,
        cwd=request.cwd,
        limits=choose(call.app.settings.limits_for(Kind.SUBAGENT), None, request.max_age, None),
        agent=agent,
        labels=tuple(request.label),
        aliases=request.aliases or {},
        discard=request.discard,
        talk=replace(talk(known, environment, None, request.task), once=not request.stays, model=request.model),
    )
    session = await call.app.launcher.launch(launch, call.caller, call.key, repeated=call.repeated)
    return Spawned.showing(session, agent=agent)
