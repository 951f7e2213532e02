"""The agents that can be started here, for whoever chooses one. Starts nothing."""

from __future__ import annotations

from pydantic import Field

from lamplighter.agents import agent_named, names_with
from lamplighter.agents.formats.commands import manner_of
from lamplighter.domain.agent_command import AgentCommand
from lamplighter.engine.start.checks import find_program
from lamplighter.errors import InputError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Environment
from lamplighter.operations.operation import Request, Result, operation


class ListAgents(Request):
    environment: Environment = None


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
    names = dict.fromkeys((*names_with("start"), *sorted(own)))
    environment = request.environment or {}
    return Agents(agents=[_view(name, manner_of(name, own), environment) for name in names])


def _view(name: str, manner: AgentCommand, environment: dict[str, str]) -> AgentView:
    try:
        path = find_program(manner.program[0], "/", environment)
    except InputError:
        path = None
    return AgentView(
        name=name,
        path=path,
        model=bool(manner.model),
        resume=manner.terminal.resume is not None or manner.terminal.last is not None,
        acp=agent_named(name).acp is not None,
        untested=manner.untested,
    )
