"""Starting a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from pydantic import Field

from lamplighter.agents import unmarked
from lamplighter.domain.limits import choose
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.engine.core.planned_command import PACKET, TOLD, PlannedCommand, PromptDelivery
from lamplighter.engine.memory.succession import Legacy
from lamplighter.engine.start.checks import check_folder, find_program
from lamplighter.engine.start.command_planner import StartWish
from lamplighter.engine.start.start_request import Launch
from lamplighter.errors import Code, Hint, InputError, Option, Use
from lamplighter.operations.acp_start import speaking
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, Environment
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views.common import StateWord


class StartSession(Request):
    command: list[str] = Field(
        default_factory=list,
        description="program and arguments, run without a shell; with --agent: further arguments of the agent",
    )
    agent: str | None = Field(
        default=None,
        max_length=100,
        description="agent to start (claude, codex, gemini, opencode, kiro, or one defined in config.toml)",
    )
    prompt: str | None = Field(
        default=None,
        min_length=1,
        max_length=1 << 23,
        description="first prompt; a plain command reads it as input",
    )
    resume: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="conversation to resume: the agent's id for it, a session, or last",
    )
    model: str | None = Field(default=None, min_length=1, max_length=200, description="model that the agent uses")
    name: str | None = Field(
        default=None, description="name, unique among living sessions (default: made from the command)"
    )
    kind: Kind = Field(default=Kind.TASK, description="what the session is for")
    parent: str | None = Field(default=None, description="parent session (default: the caller's)")
    project: str | None = Field(
        default=None, description="project (default: the name of the repository that its folder is in)"
    )
    cwd: str | None = Field(default=None, description="folder to start in (default: the caller's)")
    env: dict[str, str] = Field(
        default_factory=dict, description="variable to add to the caller's environment; repeatable"
    )
    headless: bool = Field(
        default=False, description="use pipes instead of a terminal; standard output and standard error are kept apart"
    )
    acp: bool = Field(
        default=False, description="run an agent over the Agent Client Protocol: prompts, answers and permissions"
    )
    tmux: bool = Field(default=False, description="run in your own tmux server; tmux attach -t NAME attaches")
    tmux_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="what tmux is to call it, exactly; NAME_TAKEN when tmux has one of this name",
        json_schema_extra=HIDDEN,
    )
    protect: bool = Field(default=False, description="protect it: no cleanup and no agent may end it")
    keep_children: bool = Field(
        default=False, description="when the command exits, let the processes that it left go on"
    )
    idle_limit: str | None = Field(
        default=None, description="end it after this long without activity: 30m, 8h; none for no limit"
    )
    max_age: str | None = Field(default=None, description="end it at this age: 2h, 3d; none for no limit")
    max_memory: str | None = Field(
        default=None, description="end it when its process tree uses more memory than this: 500M, 2G; none for no limit"
    )
    label: list[str] = Field(default_factory=list, max_length=20, description="label to store with it; repeatable")
    aliases: dict[str, str] = Field(
        default_factory=dict,
        max_length=10,
        description="what others call it, by namespace",
        json_schema_extra=HIDDEN,
    )
    from_session: str | None = Field(
        default=None,
        max_length=200,
        description="predecessor: an id, a name, or last; its hand-off is in the file $LAMPLIGHTER_HANDOFF and "
        "replaces {handoff}",
    )
    budget: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="with --from: size limit of the packet, in characters and in bytes (default 8000)",
    )
    force: bool = Field(
        default=False,
        description="with --from: even if the predecessor has a successor or was closed without one; operator only",
    )
    rows: int = Field(default=24, ge=1, le=1000, description="height of the terminal", json_schema_extra=HIDDEN)
    cols: int = Field(default=80, ge=1, le=1000, description="width of the terminal", json_schema_extra=HIDDEN)
    environment: Environment = None
    umask: int | None = Field(default=None, ge=0, le=0o777, description="the caller's umask", json_schema_extra=HIDDEN)
    bound: bool = Field(
        default=False, description="end it when the client that runs it goes away", json_schema_extra=HIDDEN
    )


def _driver(request: StartSession) -> Driver:
    if request.tmux and (request.headless or request.bound):
        raise InputError(
            Code.BAD_INPUT,
            "a session in tmux has a terminal, and stays when its client leaves",
            Hint(
                "leave out ",
                Option("tmux"),
                ", or ",
                Option("headless"),
                "; to wait for a command in tmux: ",
                Use("start", tmux=True),
                ", then ",
                Use("wait"),
            ),
        )
    if request.acp and (request.headless or request.tmux or request.bound):
        raise InputError(
            Code.BAD_INPUT,
            "a session that speaks ACP has pipes of its own, and stays when its client leaves",
            Hint(
                "leave out ",
                Option("acp"),
                ", or ",
                Option("headless"),
                " and ",
                Option("tmux"),
                "; to start one and wait: ",
                Use("start", acp=True),
                ", then ",
                Use("wait"),
            ),
        )
    if request.tmux:
        return Driver.TMUX
    if request.acp:
        return Driver.ACP
    return Driver.HEADLESS if request.headless else Driver.TERMINAL


class Started(Result):
    id: str
    name: str
    state: StateWord
    pid: int = Field(description="the command's process")
    parent: str | None
    folder: str = Field(description="where its log is")
    conversation: str | None = Field(
        default=None, description="what its agent calls the conversation, where that is known"
    )
    note: str | None = Field(default=None, description="what is not quite as asked")


def _goes_on(call: Call, request: StartSession) -> Callable[[str | None], Awaitable[Legacy]]:
    """What the session goes on from, once it is known which project it is in."""

    async def find(project: str | None) -> Legacy:
        return await call.app.succession.legacy(
            request.from_session or "", project, call.caller, force=request.force, budget=request.budget, query=None
        )

    return find


def _order(
    call: Call, request: StartSession, environment: dict[str, str]
) -> Callable[[str], Awaitable[PlannedCommand]]:
    """What is to be executed, once it is known in which folder."""
    wish = StartWish(
        agent=request.agent,
        words=tuple(request.command),
        environment=environment,
        headless=request.headless,
        prompt=request.prompt,
        resume=request.resume,
        model=request.model,
        handed=request.from_session is not None,
    )
    return partial(call.app.ordering.order, wish, caller=call.caller)


@operation(command="start", group="sessions", positional=("command",), changes=True, act=Act.START)
async def start_session(call: Call, request: StartSession) -> Started:
    """Start a command or an agent as a session. Returns its id and name once the program runs.

    The session goes on when the caller, the terminal or the daemon goes away. Every process that it starts belongs to it and
    ends with it. When there is no such program or folder, or the name is taken, start fails and leaves nothing behind. --from
    makes it the successor of another session, whose hand-off it gets; a second successor is refused. --agent starts an agent
    with its own command line; the conversation is known from the start where the agent lets it be named. The hand-off and
    --prompt become the agent's first prompt. Lamplighter never adds an option that skips an agent's questions. --tmux runs
    the session in your own tmux server; it ends as reliably as any other. To wait for the command and pass its output
    through: run.
    """
    environment = {**unmarked(request.environment or {}), **request.env}
    spoken = await speaking(call, request, environment) if request.acp else None
    session = await call.app.launcher.launch(
        Launch(
            command=spoken.command if spoken else tuple(request.command),
            agent=spoken.agent if spoken else None,
            talk=spoken.talk if spoken else None,
            name=request.name,
            kind=request.kind,
            parent=request.parent,
            project=request.project,
            cwd=request.cwd,
            environment=environment,
            driver=_driver(request),
            protect=request.protect,
            keep_children=request.keep_children,
            rows=request.rows,
            cols=request.cols,
            umask=request.umask,
            bound=request.bound,
            labels=tuple(request.label),
            aliases=request.aliases,
            tmux_name=request.tmux_name if request.tmux else None,
            find_order=_order(call, request, environment) if spoken is None else None,
            find_legacy=_goes_on(call, request) if request.from_session is not None else None,
            limits=choose(
                call.app.settings.limits_for(request.kind), request.idle_limit, request.max_age, request.max_memory
            ),
        ),
        call.caller,
        call.key,
        repeated=call.repeated,
    )
    assert session.main is not None
    await call.app.session_io.tell(session, call.caller, f"{call.key}/prompt")
    return Started.showing(
        session,
        pid=session.main.pid,
        folder=str(call.app.settings.session_folder(session.id)),
        conversation=session.conversation.get("id"),
        note=_note(call, session),
    )


def _note(call: Call, session: Session) -> str | None:
    """What whoever asked should know, because it is not as they would think."""
    folder = call.app.settings.session_folder(session.id)
    places = {
        PromptDelivery.FILE: f"the prompt is too long for an argument: {session.agent} is told to read {folder}/{TOLD}",
        PromptDelivery.PACKET_FILE: f"packet and prompt are too long for an argument: "
        f"{session.agent} is told to read {folder}/{PACKET}",
    }
    by = session.told.get("by", "")
    notes = [places[by]] if by in places else []
    if session.facts.untested:
        notes.append(f"how {session.agent} is started was never tried with the program itself")
    return "; ".join(notes) or None


class Preview(Result):
    command: list[str] = Field(description="the words that would be executed; of a long prompt the beginning")
    path: str = Field(description="the program")
    cwd: str
    driver: str
    agent: str | None


@operation(command=None, group="sessions")
async def preview_start(call: Call, request: StartSession) -> Preview:
    """What a start with the same words would execute, and where; or why it could not. Nothing is started."""
    environment = {**unmarked(request.environment or {}), **request.env}
    driver, cwd = _driver(request), check_folder(request.cwd)
    choose(call.app.settings.limits_for(request.kind), request.idle_limit, request.max_age, request.max_memory)
    if request.acp:
        spoken = await speaking(call, request, environment)
        command, agent = spoken.command, spoken.agent
    else:
        order = await _order(call, request, environment)(cwd)
        command, agent = order.command(handed=request.from_session is not None), order.agent
        if request.resume is None and order.conversation:  # every start makes another
            command = tuple(word.replace(order.conversation, "NEW") for word in command)
    path = find_program(command[0], cwd, environment)
    return Preview(command=list(command), path=path, cwd=cwd, driver=driver.value, agent=agent)
