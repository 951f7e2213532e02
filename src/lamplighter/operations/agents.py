"""The agents that can be started here, for whoever chooses one. Starts nothing."""

from __future__ import annotations

from pydantic import Field

from lamplighter.agents.starting import STARTING, manner_of
from lamplighter.agents.structured import STRUCTURED
from lamplighter.domain.manner import Manner
from lamplighter.errors import InputError
from lamplighter.lifecycle.launch.preconditions import find_program
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation


class ListAgents(Request):
    environment: dict[str, str] | None = Field(
        default=None, description="the caller's environment", json_schema_extra={"hidden": True}
    )


class AgentView(Result):
    name: str
    path: str | None = Field(description="where its program is; None when it is not installed")
    model: bool = Field(description="whether it can be told which model to use")
    resume: bool = Field(description="whether it can go on with a conversation")
    acp: bool = Field(description="whether it can be spoken to over ACP")
    untested: bool = Field(description="how it is started was never tried with the program itself")


class Agents(Result):
    agents: list[AgentView]


@operation(command=None, group="sessions")
async def list_agents(call: Call, request: ListAgents) -> Agents:
    """The agents that start takes, those of the settings with them, and which of them are installed."""
    own = call.app.settings.agents
    names = dict.fromkeys((*STARTING, *sorted(own)))
    environment = request.environment or {}
    return Agents(agents=[_view(name, manner_of(name, own), environment) for name in names])


def _view(name: str, manner: Manner, environment: dict[str, str]) -> AgentView:
    try:
        path = find_program(manner.program[0], "/", environment)
    except InputError:
        path = None
    return AgentView(
        name=name,
        path=path,
        model=bool(manner.model),
        resume=manner.terminal.resume is not None or manner.terminal.last is not None,
        acp=name in STRUCTURED,
        untested=manner.untested,
    )
