"""Sessions of kiro-cli: made, chosen, spoken to, cleared and ended. On no command line: the kiro tools are made from these.

A session belongs to whoever made it, and nobody else sees it. Each turn is a session of ours, started and killed as any other.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from typing import Literal

from pydantic import Field

from lamplighter.compat.kiro import program, store
from lamplighter.compat.kiro.checks import check_folder, check_message, environment_of, find_program
from lamplighter.compat.kiro.engine import kiro_of
from lamplighter.compat.kiro.model import KiroSession, Turn, TurnKind, TurnState, new_session_id, new_task_id
from lamplighter.compat.kiro.queries import KiroSessionView, KiroTurnView, session_view, turn_view
from lamplighter.compat.kiro.settings import KiroSettings, kiro_settings
from lamplighter.domain.limits import choose
from lamplighter.domain.memory.exchange import Talk
from lamplighter.domain.permission import Act
from lamplighter.domain.session import OURS, Driver, Kind
from lamplighter.domain.text.plural import counted
from lamplighter.engine.start.start_request import Launch
from lamplighter.errors import Code, ConflictError, Hint, LampError, MissingError, SurvivorsError, UnavailableError, Use
from lamplighter.operations.call import Call
from lamplighter.operations.end import KillSession, kill_session
from lamplighter.operations.fields import Environment
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed, permitted
from lamplighter.operations.start import StartSession, start_session
from lamplighter.store import events


class CreateKiroSession(Request):
    agent: str | None = Field(default=None, max_length=200, description="the agent to talk to; Kiro's own by default")
    working_directory: str | None = Field(default=None, description="the folder it works in")
    environment: Environment = None


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def create_kiro_session(call: Call, request: CreateKiroSession) -> KiroSessionView:
    """Make a session of kiro-cli, its caller's active one where there is none. It runs nothing until it is spoken to."""
    await allowed(call, Act.START)
    if call.repeated:
        again = await call.app.store.get(lambda db: store.session_by_key(db, call.caller.name, call.key))
        if again is not None and again.ended_at is None:
            return session_view(again, await _active(call))
    environment = environment_of(request.environment)
    settings = kiro_settings(environment)
    find_program(environment, settings)
    folder = check_folder(request.working_directory)
    await kiro_of(call.app).sweep()
    made = _new(call, request.agent or None, folder, settings)
    await call.app.registry.write(lambda db: _insert(db, made, settings))
    return session_view(made, await _active(call))


class OneKiroSession(Request):
    session_id: str = Field(max_length=100, description="the session")


class ChosenKiroSession(Result):
    session_id: str
    active: str | None = Field(description="the caller's active session now")


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def switch_kiro_session(call: Call, request: OneKiroSession) -> ChosenKiroSession:
    """Make a session of kiro-cli its caller's active one: what is said to no session in particular goes there."""
    await kiro_of(call.app).sweep()
    now, owner = call.app.clock.now(), call.caller.name

    def write(db: sqlite3.Connection) -> None:
        found = _mine(db, owner, request.session_id)
        store.activate(db, owner, found.id)
        store.touch(db, found.id, now)

    await call.app.store.write(write)
    return ChosenKiroSession(session_id=request.session_id, active=request.session_id)


@operation(command=None, group="sessions", changes=True, act=Act.END)
async def end_kiro_session(call: Call, request: OneKiroSession) -> ChosenKiroSession:
    """End a session of kiro-cli with all that runs in it: TERM, the grace, KILL. The oldest left becomes the active one."""
    app, owner = call.app, call.caller.name
    ended = await app.store.get(lambda db: store.session_by_key(db, owner, call.key)) if call.repeated else None
    if ended is None or ended.ended_at is None:
        await kiro_of(call.app).sweep()
        ended = await app.store.get(lambda db: _mine(db, owner, request.session_id))
    turn = await app.store.get(lambda db: store.undone_of(db, request.session_id))
    await _may_stop(call, turn)
    now = app.clock.now()

    def write(db: sqlite3.Connection) -> Turn | None:
        running = store.undone_of(db, ended.id)  # it may have begun since
        if running is not None:
            store.stop_turn(db, running.id, "ended")
        if store.end_session(db, ended, now, "asked", call.key):
            events.append(db, now, None, owner, "kiro session ended", kiro=ended.id, why="asked")
        return running

    running = await app.registry.write(write)
    if running is not None:
        await _stop(call, running, f"{ended.id} was ended")
        await kiro_of(call.app).abandon(ended.id)
    await kiro_of(call.app).forget_home(ended.id)
    return ChosenKiroSession(session_id=ended.id, active=await _active(call))


class ClearKiroSession(Request):
    session_id: str | None = Field(default=None, max_length=100, description="the session; the active one by default")
    conversation: bool = Field(description="also what kiro-cli itself remembers, not only the history kept here")


class ClearedKiroSession(Result):
    session_id: str
    working_directory: str
    remembered: bool = Field(description="there was something to forget here")
    file: str | None = Field(description="where the folder's own conversation is kept, with conversation")
    deleted: bool = Field(description="that file was there")


@operation(command=None, group="sessions", changes=True, act=Act.SEND)
async def clear_kiro_session(call: Call, request: ClearKiroSession) -> ClearedKiroSession:
    """Forget the history of a session of kiro-cli; with conversation also what kiro-cli remembers of it, in its folder too."""
    await kiro_of(call.app).sweep()
    now, owner = call.app.clock.now(), call.caller.name

    def write(db: sqlite3.Connection) -> tuple[KiroSession, bool]:
        found = _chosen(db, owner, request.session_id)
        remembered = found.turns > 0 or bool(store.history(db, found.id, 1))
        busy = store.undone_of(db, found.id)
        if request.conversation and busy is not None:
            raise _busy(found, busy)
        store.clear_history(db, found.id)
        store.touch(db, found.id, now, turns=0 if request.conversation else None)
        events.append(db, now, None, owner, "kiro session cleared", kiro=found.id, conversation=request.conversation)
        return found, remembered

    found, remembered = await call.app.registry.write(write)
    file, deleted = None, False
    if request.conversation:
        await kiro_of(call.app).forget_conversation(found.id)
        file = program.session_file(found.working_directory)
        deleted = await asyncio.to_thread(_delete, file)
    folder = found.working_directory
    return ClearedKiroSession(
        session_id=found.id, working_directory=folder, remembered=remembered, file=file, deleted=deleted
    )


def _delete(file: str) -> bool:
    try:
        os.unlink(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise UnavailableError(
            Code.DISK_FULL,
            f"{file[:200]!a} cannot be deleted: {error.strerror}",
            "delete it by hand; the conversation that is kept here is forgotten",
        ) from None
    return True


class StartKiroTurn(Request):
    message: str = Field(description="what kiro-cli reads on its standard input")
    session_id: str | None = Field(
        default=None, max_length=100, description="the session; by default the active one, or a new one"
    )
    kind: Literal["chat", "task", "command"] = Field(default="task", description="what it is for")
    cwd: str | None = Field(default=None, description="the folder of a session that has to be made")
    environment: Environment = None


@operation(command=None, group="sessions", changes=True, act=Act.START)
async def start_kiro_turn(call: Call, request: StartKiroTurn) -> KiroTurnView:
    """Say something to a session of kiro-cli: one process tree, a session of ours, which reads it and ends by itself.

    Comes back as soon as it runs. One turn at a time: a session that is at one is busy.
    """
    app = call.app
    await allowed(call, Act.START)
    environment = environment_of(request.environment)
    known = await app.store.get(lambda db: store.turn_by_key(db, call.key)) if call.repeated else None
    if known is None:
        check_message(request.message, "command" if request.kind == "command" else "message")
        find_program(environment, kiro_settings(environment))
    identifier = known.id if known else new_task_id()
    with kiro_of(call.app).starting(identifier):
        turn = known or await _begin(call, request, identifier, kiro_settings(environment))
        if not turn.done:
            await _run(call, turn, environment)
    turn = await app.store.get(lambda db: store.turn(db, identifier, turn.owner)) or turn
    if turn.stopped:  # by somebody who came while it was starting
        await _stop(call, turn, f"{turn.id} {turn.stopped}")
        await kiro_of(call.app).abandon(turn.session)
        turn = await app.store.get(lambda db: store.turn(db, identifier, turn.owner)) or turn
    run = await kiro_of(call.app).run_of(turn)
    return turn_view(await kiro_of(call.app).settle(turn), run, app.clock.now())


async def _begin(call: Call, request: StartKiroTurn, identifier: str, settings: KiroSettings) -> Turn:
    """The intent, in one transaction: from here on the session is busy."""
    await kiro_of(call.app).sweep()
    owner, now = call.caller.name, call.app.clock.now()
    folder = check_folder(settings.working_directory or request.cwd) if request.session_id is None else ""
    at = request.session_id or await _active(call)
    if at is not None:
        await kiro_of(call.app).abandon(at)

    def write(db: sqlite3.Connection) -> Turn:
        if request.session_id is None and store.active(db, owner) is None:
            _insert(db, _new(call, None, folder, settings), settings)
        session = _chosen(db, owner, request.session_id)
        busy = store.undone_of(db, session.id)
        if busy is not None:
            raise _busy(session, busy)
        if not store.make_room(db, owner, settings.max_async_tasks):
            raise ConflictError(
                Code.TOO_MANY,
                f"{owner} has {settings.max_async_tasks} tasks that are not done",
                "cancel some, or wait for them",
            )
        kind, resumes = TurnKind(request.kind), session.turns > 0
        turn = Turn(identifier, session.id, owner, kind, request.message, resumes, call.key, now)
        store.insert_turn(db, turn)
        store.touch(db, session.id, now, turns=session.turns + 1)
        if kind is not TurnKind.COMMAND:
            store.remark(db, turn, "user", request.message, now)
        return turn

    return await call.app.store.write(write)


async def _run(call: Call, turn: Turn, environment: dict[str, str]) -> None:
    """Start its process and give it all that it is to read. What cannot start was never said."""
    app = call.app
    session = await app.store.get(lambda db: store.session(db, turn.session, turn.owner))
    if session is None:
        return
    home = kiro_of(call.app).home(session.id)
    try:
        await asyncio.to_thread(program.make_home, home, environment)
        if await _spoken_to(call, session, turn, home, environment):
            return
        started = await start_session(call, _orders(session, turn, home, environment))
    except (LampError, OSError) as error:
        problem = error if isinstance(error, LampError) else _no_home(home, error)
        # Ended while it started, or nobody can say: then there is something to tell of.
        if problem.code not in (Code.ENDED, Code.OUTCOME_UNKNOWN) and await kiro_of(call.app).run_of(turn) is None:
            await app.store.write(lambda db: _take_back(db, turn, session.turns - 1))
        raise problem from error
    run = await app.registry.find(started.model_dump()["id"])
    await app.session_io.feed(run, turn.message, call.caller, f"{call.key}/input")


async def _spoken_to(call: Call, session: KiroSession, turn: Turn, home: str, environment: dict[str, str]) -> bool:
    """Over ACP, where the program has it: then it says itself when it is done. A conversation that was begun otherwise, one with
    an agent of the user's, and commands go the older way."""
    settings = kiro_settings(environment)
    if session.agent or settings.default_agent or settings.default_model or turn.kind is TurnKind.COMMAND:
        return False
    conversation = await kiro_of(call.app).conversation(turn) if turn.resumes else None
    again = await kiro_of(call.app).run_of(turn)
    if again is not None and again.transcript_form != OURS:
        return False
    if again is None and turn.resumes and conversation is None:
        return False
    path = find_program(environment, settings)
    if not await kiro_of(call.app).speaks_acp(path, environment):
        return False
    idle_limit, max_age = f"{session.idle_seconds:g}s", _longest(settings)
    launch = Launch(
        command=(settings.cli_path, "acp"),
        environment={**environment, program.HOME: home},
        driver=Driver.ACP,
        name=f"kiro:{turn.id}",
        cwd=session.working_directory,
        limits=choose(call.app.settings.limits_for(Kind.TASK), idle_limit, max_age, None),
        agent="kiro",
        talk=Talk(conversation, turn.message, once=True, trusting=True),
    )
    await call.app.launcher.launch(launch, call.caller, call.key, repeated=call.repeated)
    return True


def _longest(settings: KiroSettings) -> str | None:
    return f"{settings.command_timeout:g}s" if settings.command_timeout else None


def _orders(session: KiroSession, turn: Turn, home: str, environment: dict[str, str]) -> StartSession:
    settings = kiro_settings(environment)
    agent = session.agent or settings.default_agent
    return StartSession(
        command=program.chat(agent, resume=turn.resumes, model=settings.default_model, command=settings.cli_path),
        name=f"kiro:{turn.id}",
        cwd=session.working_directory,
        environment={**environment, program.HOME: home},
        headless=True,
        idle_limit=f"{session.idle_seconds:g}s",
        max_age=_longest(settings),
    )


def _no_home(home: str, error: OSError) -> UnavailableError:
    return UnavailableError(
        Code.DISK_FULL, f"{home} cannot be written: {error.strerror}", "make room on the disk and try again"
    )


class CancelKiroTask(Request):
    task_id: str = Field(max_length=100, description="the task")


class CancelledKiroTask(KiroTurnView):
    cancelled: bool = Field(description="false when it was done before")


@operation(command=None, group="sessions", changes=True, act=Act.END)
async def cancel_kiro_task(call: Call, request: CancelKiroTask) -> CancelledKiroTask:
    """Cancel a task of kiro-cli: TERM, the grace, KILL, until nothing of its process tree is left. Its session stays."""
    app, owner = call.app, call.caller.name
    turn = await app.store.get(lambda db: store.turn(db, request.task_id, owner))
    if turn is None:
        raise no_task(request.task_id)
    turn = await kiro_of(call.app).settle(turn)
    if not turn.done:
        await _may_stop(call, turn)
        await app.store.write(lambda db: store.stop_turn(db, request.task_id, "cancelled"))
        await _stop(call, turn, f"{turn.id} was cancelled")
        await kiro_of(call.app).abandon(turn.session)
    turn = await app.store.get(lambda db: store.turn(db, request.task_id, owner)) or turn
    shown = turn_view(turn, await kiro_of(call.app).run_of(turn), app.clock.now())
    return CancelledKiroTask(**shown.model_dump(), cancelled=turn.state is TurnState.CANCELLED)


async def _may_stop(call: Call, turn: Turn | None) -> None:
    """FORBIDDEN before anything is written, when its run may not be killed: people are attached to it."""
    run = await kiro_of(call.app).run_of(turn) if turn is not None else None
    if run is not None and run.alive:
        await permitted(call, Act.KILL, run.id)


async def _stop(call: Call, turn: Turn, reason: str) -> None:
    """Until nothing of it is left; SURVIVORS when something is."""
    await kiro_of(call.app).begun(turn)
    run = await kiro_of(call.app).run_of(turn)
    if run is not None and run.alive:
        wish = KillSession(session=run.id, force=True, reason=reason)
        ended = (await kill_session(call, wish)).model_dump()
        if ended["state"] != "ended":
            left = ended["certificate"]["survivors"]
            raise SurvivorsError(
                Code.SURVIVORS,
                f"still alive: {counted(len(left), 'process')} of it",
                Hint(Use("show", session=run.id)),
                survivors=left,
            )
    await kiro_of(call.app).settle(turn)


# -- in a transaction


def _new(call: Call, agent: str | None, folder: str, settings: KiroSettings) -> KiroSession:
    now, idle = call.app.clock.now(), settings.session_timeout
    return KiroSession(new_session_id(), call.caller.name, agent, folder, now, now, key=call.key, idle_seconds=idle)


def _insert(db: sqlite3.Connection, made: KiroSession, settings: KiroSettings) -> None:
    count = len(store.open_sessions(db, made.owner))
    if 0 < settings.max_sessions <= count:
        raise ConflictError(
            Code.TOO_MANY,
            f"{counted(count, 'session')} open, and {settings.max_sessions} may be",
            "end one first: kiro_session_end",
        )
    store.insert_session(db, made)
    if store.active(db, made.owner) is None:
        store.activate(db, made.owner, made.id)
    events.append(db, made.created_at, None, made.owner, "kiro session", kiro=made.id, cwd=made.working_directory)


def _take_back(db: sqlite3.Connection, turn: Turn, turns: int) -> None:
    store.delete_turn(db, turn.id)
    store.touch(db, turn.session, turn.created_at, turns=max(0, turns))


def _mine(db: sqlite3.Connection, owner: str, identifier: str) -> KiroSession:
    found = store.session(db, identifier, owner)
    if found is None:
        raise no_session(identifier)
    return found


def _chosen(db: sqlite3.Connection, owner: str, identifier: str | None) -> KiroSession:
    """The one that is named, or the active one."""
    wanted = identifier if identifier is not None else store.active(db, owner)
    if wanted is None:
        raise MissingError(
            Code.NOT_FOUND, "no session is active", "make one with kiro_session_create", session_id=identifier
        )
    return _mine(db, owner, wanted)


def no_task(identifier: str) -> MissingError:
    return MissingError(
        Code.NOT_FOUND, f"there is no task {identifier[:60]!a}", "kiro_task_list lists yours", task_id=identifier
    )


def no_session(identifier: str) -> MissingError:
    return MissingError(
        Code.NOT_FOUND,
        f"there is no session {identifier[:60]!a} of yours",
        "kiro_session_list lists those there are; one that nobody speaks to ends by itself",
        session_id=identifier,
    )


def _busy(session: KiroSession, turn: Turn) -> ConflictError:
    return ConflictError(
        Code.ACTIVE,
        f"{session.id} is at {turn.id} and takes one message at a time",
        f"wait for it, cancel it with kiro_task_cancel {turn.id}, or use another session",
        session_id=session.id,
        task_id=turn.id,
    )


async def _active(call: Call) -> str | None:
    return await call.app.store.get(lambda db: store.active(db, call.caller.name))
