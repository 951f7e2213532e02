"""Giving an agent a task: a session of its own, a child of whoever asks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import Field

from lamplighter.domain.limits import choose
from lamplighter.domain.permission import Act, Caller, Rank
from lamplighter.domain.recipe import Recipe
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.errors import Code, ConflictError, DeadlineError, InputError
from lamplighter.lifecycle.launch import Launch
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.speaking import spawn_structured

if TYPE_CHECKING:
    from lamplighter.app import App

_UNKNOWN = "generic"


class SpawnAgent(Request):
    task: str = Field(min_length=1, max_length=1 << 20, description="what it is to do")
    agent: str | None = Field(
        default=None, description="which agent, by its name in the settings; by default the caller's own program"
    )
    model: str | None = Field(default=None, description="the model that it is to use")
    stays: bool = Field(default=False, description="on a terminal, and there for more when the task is done")
    structured: bool = Field(default=False, description="over the Agent Client Protocol, where the agent speaks it")
    discard: bool = Field(default=False, description="its log goes as soon as it has ended")
    max_age: str | None = Field(default=None, description="end it when it is older than this")
    label: list[str] = Field(default_factory=list, max_length=20, description="words to find it by")
    aliases: dict[str, str] = Field(default_factory=dict, max_length=10, description="what others call it")
    cwd: str | None = Field(default=None, description="the folder it starts in")
    environment: dict[str, str] | None = Field(default=None, description="the caller's environment")


class Spawned(Result):
    id: str
    name: str
    agent: str
    state: str


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def spawn_agent(call: Call, request: SpawnAgent) -> Spawned:
    """Start an agent with a task, as a sub-agent of the caller's session. How it is started is in the settings.

    A command that has no place for the task gets it on its standard input, and one that does not stay the end of it.
    """
    agent = request.agent or own_program(call.app, call.caller)
    if agent is None:
        raise InputError(
            Code.NO_SUCH_PROGRAM,
            f"what agent {call.caller.name} is cannot be told, to start another like it",
            _hint(call),
        )
    if request.structured:
        return Spawned.model_validate(await spawn_structured(call, request, agent))
    recipe = _recipe(call, agent)
    words, told = recipe.words(agent, request.task, request.model, stays=request.stays)
    limits = choose(call.app.settings.limits_for(Kind.SUBAGENT), None, request.max_age, None)
    launch = Launch(
        command=tuple(words),
        name=None,
        kind=Kind.SUBAGENT,
        parent=None,
        cwd=request.cwd,
        environment=request.environment or {},
        driver=Driver.TERMINAL if request.stays else Driver.HEADLESS,
        protect=False,
        keep_children=False,
        rows=24,
        cols=80,
        umask=None,
        bound=False,
        limits=limits,
        agent=agent,
        labels=tuple(request.label),
        aliases=request.aliases,
        discard=request.discard,
    )
    session = await call.app.launcher.launch(launch, call.caller, call.key, repeated=call.repeated)
    await _instruct(call, session, request, told)
    return Spawned(id=session.id, name=session.name, agent=agent, state=session.state.value)


async def _instruct(call: Call, session: Session, request: SpawnAgent, told: bool) -> None:
    """What it has not been told with its command. Typed once, however often this is repeated."""
    task, key = None if told else request.task, f"{call.key}/task"
    if not request.stays:
        await call.app.speech.feed(session, task, call.caller, key)
    elif task is not None and session.alive:
        # One that does not read yet finds it waiting; one that has left already did not want it.
        with suppress(DeadlineError, ConflictError):
            await call.app.speech.send(session, task, keys=False, enter=True, by=call.caller, key=key)


def own_program(app: App, caller: Caller) -> str | None:
    """What agent the caller is; None where that cannot be told."""
    lamp = app.fleet.lamps.get(caller.session or "")
    found = lamp.session.agent if lamp else caller.name.split(":")[1] if caller.rank is Rank.AGENT else _UNKNOWN
    return None if found == _UNKNOWN else found


def _recipe(call: Call, agent: str) -> Recipe:
    found = call.app.settings.agents.get(agent)
    if found is None:
        raise InputError(
            Code.NO_SUCH_PROGRAM, f"the settings do not say how to start the agent {agent[:40]!a}", _hint(call)
        )
    return found


def _hint(call: Call) -> str:
    known = ", ".join(sorted(call.app.settings.agents))
    ask = 'ask the operator to write [agents.NAME] and command = ["NAME", "{task}"] into config.toml'
    return f"name one of {known}; or {ask}" if known else ask
