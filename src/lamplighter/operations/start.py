"""Starting a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import Field

from lamplighter.agents import unmarked
from lamplighter.domain.limits import choose
from lamplighter.domain.permission import Act
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.errors import Code, InputError
from lamplighter.lifecycle.continuity.succession import Legacy
from lamplighter.lifecycle.launch.order import PACKET, TOLD, By, Order
from lamplighter.lifecycle.launch.ordering import Wish
from lamplighter.lifecycle.launch.preconditions import check_folder, find_program
from lamplighter.lifecycle.launch.request import Launch
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.speaking import speaking


class StartSession(Request):
    command: list[str] = Field(
        default_factory=list,
        description="the program and its arguments, run as they are, by no shell; with agent: words added to its own",
    )
    agent: str | None = Field(
        default=None,
        max_length=100,
        description="start this agent as it is to be started: claude, codex, gemini, opencode, kiro, or one of the settings",
    )
    prompt: str | None = Field(
        default=None,
        min_length=1,
        max_length=1 << 23,
        description="what it is told first; a plain command reads it as input",
    )
    resume: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="go on with a conversation of the agent: its own id of it, a session that was in it, or last",
    )
    model: str | None = Field(
        default=None, min_length=1, max_length=200, description="the model that the agent is to use"
    )
    name: str | None = Field(
        default=None, description="what to call it; unique among the living; made from the command if left out"
    )
    kind: Kind = Field(default=Kind.TASK, description="what it is for")
    parent: str | None = Field(default=None, description="the session it belongs to; by default the one that asks")
    project: str | None = Field(
        default=None, description="what it is about; by default the name of the repository that its folder is in"
    )
    cwd: str | None = Field(default=None, description="the folder it starts in; by default the caller's")
    env: dict[str, str] = Field(default_factory=dict, description="K=V, added to the caller's environment")
    headless: bool = Field(
        default=False, description="pipes instead of a terminal; standard output and error are kept apart"
    )
    acp: bool = Field(
        default=False, description="an agent that speaks the Agent Client Protocol: prompts, answers and permissions"
    )
    tmux: bool = Field(
        default=False, description="in a session of your own tmux, which tmux attach -t NAME attaches to"
    )
    tmux_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="what tmux is to call it, exactly; NAME_TAKEN when tmux has one of this name",
        json_schema_extra={"hidden": True},
    )
    protect: bool = Field(default=False, description="no cleanup and no agent may end it")
    keep_children: bool = Field(default=False, description="when the command exits, let what it left behind go on")
    idle_limit: str | None = Field(
        default=None, description="end it when it has been quiet for this long: 30m, 8h; none for no limit"
    )
    max_age: str | None = Field(
        default=None, description="end it when it is older than this: 2h, 3d; none for no limit"
    )
    max_memory: str | None = Field(
        default=None, description="end it when its whole tree takes more than this: 500M, 2G; none for no limit"
    )
    label: list[str] = Field(
        default_factory=list, max_length=20, description="a word to find it by; may be given several times"
    )
    aliases: dict[str, str] = Field(
        default_factory=dict,
        max_length=10,
        description="what others call it, by namespace",
        json_schema_extra={"hidden": True},
    )
    from_session: str | None = Field(
        default=None,
        max_length=200,
        description="go on from this one: an id, a name, or last; its hand-off is in LAMPLIGHTER_HANDOFF and in {handoff}",
    )
    budget: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="with from: characters and bytes of the packet at most; 8000 by default",
    )
    force: bool = Field(
        default=False,
        description="with from: also when it was closed without a successor or has one; the operator's alone",
    )
    rows: int = Field(
        default=24, ge=1, le=1000, description="height of the terminal", json_schema_extra={"hidden": True}
    )
    cols: int = Field(
        default=80, ge=1, le=1000, description="width of the terminal", json_schema_extra={"hidden": True}
    )
    environment: dict[str, str] | None = Field(
        default=None, description="the caller's environment", json_schema_extra={"hidden": True}
    )
    umask: int | None = Field(
        default=None, ge=0, le=0o777, description="the caller's umask", json_schema_extra={"hidden": True}
    )
    bound: bool = Field(
        default=False, description="end it when the client that runs it goes away", json_schema_extra={"hidden": True}
    )


def _driver(request: StartSession) -> Driver:
    if request.tmux and (request.headless or request.bound):
        raise InputError(
            Code.BAD_INPUT,
            "a session in tmux has a terminal, and stays when its client leaves",
            "leave out --tmux, or --headless; to wait for a command in tmux: lamp start --tmux, then lamp wait",
        )
    if request.acp and (request.headless or request.tmux or request.bound):
        raise InputError(
            Code.BAD_INPUT,
            "a session that speaks ACP has pipes of its own, and stays when its client leaves",
            "leave out --acp, or --headless and --tmux; to start one and wait: lamp start --acp, then lamp wait",
        )
    if request.tmux:
        return Driver.TMUX
    if request.acp:
        return Driver.ACP
    return Driver.HEADLESS if request.headless else Driver.TERMINAL


class Started(Result):
    id: str
    name: str
    state: str
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


def _order(call: Call, request: StartSession, environment: dict[str, str]) -> Callable[[str], Awaitable[Order]]:
    """What is to be executed, once it is known in which folder."""
    wish = Wish(
        agent=request.agent,
        words=tuple(request.command),
        environment=environment,
        headless=request.headless,
        prompt=request.prompt,
        resume=request.resume,
        model=request.model,
        handed=request.from_session is not None,
    )

    async def find(cwd: str) -> Order:
        return await call.app.ordering.order(wish, cwd, call.caller)

    return find


@operation(command="start", group="sessions", positional=("command",), changes=True, act=Act.START)
async def start_session(call: Call, request: StartSession) -> Started:
    """Start a command or an agent as a session and come back at once with its id and name.

    The command has been executed when this returns. It goes on whatever happens to the caller, the terminal or the daemon;
    everything it starts belongs to it and is ended with it. Fails, with nothing left behind, when there is no such program or
    folder or the name is taken. With from it is the successor of another session: it has what that one handed over, and one
    session can have one successor. With agent it is started in that agent's own way, in a conversation that is known from the
    first where the agent lets it be named; what was handed over and prompt are its first prompt. No option that skips an agent's
    questions is ever added. With tmux it is in a session of your own tmux server, and is ended as surely as any other. To
    wait for the command and pass its output through, use run.
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
    await call.app.speech.tell(session, call.caller, f"{call.key}/prompt")
    return Started(
        id=session.id,
        name=session.name,
        state=session.state.value,
        pid=session.main.pid,
        parent=session.parent,
        folder=str(call.app.settings.session_folder(session.id)),
        conversation=session.conversation.get("id"),
        note=_note(call, session),
    )


def _note(call: Call, session: Session) -> str | None:
    """What whoever asked should know, because it is not as they would think."""
    folder = call.app.settings.session_folder(session.id)
    places = {
        By.FILE: f"the prompt is too long for an argument: {session.agent} is told to read {folder}/{TOLD}",
        By.PACKET_FILE: f"packet and prompt are too long for an argument: {session.agent} is told to read {folder}/{PACKET}",
    }
    by = session.told.get("by", "")
    notes = [places[by]] if by in places else []
    if session.facts.get("untested"):
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
