"""Launching: the checks, the intent, the spawn, and what is left when it fails: nothing.

Knows how a session comes to be; knows nothing of how it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lamplighter.agents import program_name
from lamplighter.agents.transcript import VARIABLES
from lamplighter.domain.exchange import Talk
from lamplighter.domain.limits import NO_LIMITS, Limits
from lamplighter.domain.name import check_label, check_name, make_id, name_for, name_from
from lamplighter.domain.permission import DAEMON, Act, Caller, Rank, check
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import State
from lamplighter.drivers.tmux_server import tmux_program
from lamplighter.errors import Code, ConflictError, ForbiddenError, InputError, LampError, UnavailableError
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.tree import MARK
from lamplighter.lifecycle.births import is_born, was_born
from lamplighter.lifecycle.continuity.projects import Project, Projects
from lamplighter.lifecycle.continuity.repository import commit_of
from lamplighter.lifecycle.continuity.succession import Legacy
from lamplighter.lifecycle.dialogue.conversations import begin, first_facts
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.lifecycle.order import PACKET, TOLD, By, Order, Told
from lamplighter.lifecycle.preconditions import USUAL_PATH, check_command, check_folder, find_program
from lamplighter.lifecycle.tmux.panes import Panes, intended
from lamplighter.line import BrokenError, Line, RefusedError
from lamplighter.store import aliases, events, exchanges, sessions

_BIRTH_SECONDS = 2.0
_MOST_LOSSES = 5


_NOTHING = Order(())


@dataclass(frozen=True)
class Launch:
    """What is to be started, as asked."""

    command: tuple[str, ...]
    environment: dict[str, str]
    driver: Driver
    name: str | None = None
    kind: Kind = Kind.TASK
    parent: str | None = None
    cwd: str | None = None
    protect: bool = False
    keep_children: bool = False
    rows: int = 24
    cols: int = 80
    umask: int | None = None
    bound: bool = False
    limits: Limits = NO_LIMITS
    project: str | None = None
    agent: str | None = None
    labels: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])  # namespace → what it is called there
    discard: bool = False
    tmux_name: str | None = None
    find_legacy: Callable[[str | None], Awaitable[Legacy]] | None = None  # by the project that it is in
    legacy: Legacy | None = None  # what it goes on from
    find_order: Callable[[str], Awaitable[Order]] | None = None  # by its folder; without it the command is run as it is
    order: Order = _NOTHING

    talk: Talk | None = None  # with one that speaks ACP

    async def ordered(self, cwd: str) -> Launch:
        """With what is to be executed known."""
        order = Order(self.command) if self.find_order is None else await self.find_order(cwd)
        command = order.command(handed=self.find_legacy is not None)
        return replace(self, order=order, command=command, agent=self.agent or order.agent)


class Launcher:
    """`adopt` gives a fresh line to whoever watches sessions; `find` has them find a session that was born unseen."""

    def __init__(
        self,
        fleet: Fleet,
        keeping: Keeping,
        panes: Panes,
        adopt: Callable[[str, socket.socket], Line],
        find: Callable[[str], Awaitable[None]],
    ) -> None:
        self.fleet = fleet
        self.keeping = keeping
        self.panes = panes
        self.adopt = adopt
        self.find = find
        self.projects = Projects(fleet)
        self.started: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._numbers: dict[str, int] = {}

    async def launch(self, launch: Launch, caller: Caller, key: str, *, repeated: bool) -> Session:
        """Started, with its execution confirmed; or an error, and nothing is left behind."""
        again = await self.fleet.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return _born(await self.resume(self._now(again)))
        if launch.find_order is None:
            check_command(launch.command, launch.environment)
        if launch.driver is Driver.TMUX:
            tmux_program()
        cwd = check_folder(launch.cwd)
        launch = await launch.ordered(cwd)
        program = find_program(launch.command[0], cwd, launch.environment)
        parent = await self.parent_for(launch.parent, caller)
        project = await self.projects.of_start(cwd, launch.project)
        if launch.find_legacy is not None:
            launch = replace(launch, legacy=await launch.find_legacy(project.id))
        session = await self._intend(launch, program, cwd, project, parent, caller, key)
        return _born(await self._spawn(session, launch.rows, launch.cols))

    async def resume(self, session: Session) -> Session:
        """Go on with a start whose intent is written. Safe to repeat: a session is born at most once."""
        if session.state is not State.STARTING:
            return session
        if await was_born(self.fleet.folder(session.id), session.id):
            # Its orders are gone as soon as it runs, and a pane of tmux has handed everything over: neither comes again.
            return await self._joined(session)
        orders = read_json(f"{self.fleet.folder(session.id)}/launch.json")
        if orders is None:
            raise await self._fail(
                session,
                UnavailableError(
                    Code.OUTCOME_UNKNOWN, f"the start of {session.name} was interrupted", "start it again"
                ),
            )
        return await self._spawn(session, orders["rows"], orders["cols"])

    def _now(self, session: Session) -> Session:
        lamp = self.fleet.lamps.get(session.id)
        return lamp.session if lamp else session

    def check_count(self, caller: Caller) -> None:
        """TOO_MANY when this owner has as many living sessions as one may have; the dead never count."""
        most = self.fleet.settings.sessions_per_owner
        if most is None:
            return
        count = sum(1 for lamp in self.fleet.lamps.values() if _counts(lamp.session, caller))
        if count >= most:
            raise ConflictError(
                Code.TOO_MANY,
                f"{caller.name} has {count} sessions, and sessions_per_owner allows {most} at once",
                "end some first: lamp ls shows them, lamp cleanup ends what is done",
            )

    async def parent_for(self, named: str | None, caller: Caller) -> Session | None:
        if named is None:
            lamp = self.fleet.lamps.get(caller.session or "")
            return lamp.session if lamp else None
        parent = await self.fleet.find(named)
        if not parent.alive:
            raise ConflictError(
                Code.ENDED,
                f"{parent.name} ({parent.id}) has ended and can start nothing",
                "leave parent out, or name a living session",
            )
        if caller.rank is not Rank.OPERATOR and parent.id != caller.session:
            check(caller, Act.SEND, parent, parent.line)
        if caller.rank is Rank.UNKNOWN:
            raise ForbiddenError(
                Code.FORBIDDEN, f"{caller.name} may not start children of {parent.name}", "leave parent out"
            )
        return parent

    async def _intend(
        self, launch: Launch, program: str, cwd: str, project: Project, parent: Session | None, caller: Caller, key: str
    ) -> Session:
        """The intent: from here on the session exists, and a crash finds it."""
        now = self.fleet.clock.now()
        wanted = check_name(launch.name) if launch.name is not None else None
        identifier = self.fleet.last_id = make_id(now, self.fleet.last_id)
        line = [parent.id, parent.owner, *parent.line] if parent else []
        words = [launch.order.agent] if launch.order.agent else list(launch.command)
        base = name_from(launch.tmux_name) if launch.tmux_name else name_for(words)
        name = wanted or self.free_name(base)
        told = launch.order.told(self.fleet.folder(identifier), launch.legacy.text if launch.legacy else None)
        facts = _first_facts(launch, line, cwd, told)
        if launch.driver is Driver.TMUX:
            environment = launch.environment or dict(os.environ)
            facts["tmux"] = intended(name, launch.tmux_name, wanted is not None, environment)
        session = Session(
            id=identifier,
            name=name,
            kind=launch.kind,
            driver=launch.driver,
            owner=caller.name,
            command=launch.command,
            cwd=cwd,
            created_at=now,
            boot=self.fleet.boot,
            parent=parent.id if parent else None,
            predecessor=launch.legacy.predecessor.id if launch.legacy else None,
            project=project.name,
            project_id=project.id,
            agent=launch.agent or program_name(launch.command),
            protected=launch.protect,
            keep_children=launch.keep_children,
            bound=launch.bound,
            limits=launch.limits,
            key=key,
            facts={"awake_at": self.fleet.clock.monotonic(), **facts},
        )
        self._make_folder(session.id)
        files = {"launch.json": json.dumps(self._orders(session, launch, program, told)), **told.files}
        if launch.legacy is not None:
            files[PACKET] = launch.legacy.text
        for name, text in files.items():
            if not write_file(f"{self.fleet.folder(session.id)}/{name}", text.encode()):
                self._remove_folder(session.id)
                raise _disk_full(self.fleet.folder(session.id))
        try:
            await self._insert(session, caller, launch, project)
        except BaseException:
            self._remove_folder(session.id)
            raise
        return session

    async def _insert(self, session: Session, caller: Caller, launch: Launch, project: Project) -> None:
        def write(db: sqlite3.Connection) -> Any:
            if launch.legacy is not None:
                launch.legacy.claim(db, session.id)
            if not sessions.insert(db, session):
                return None
            for namespace, value in launch.aliases.items():
                if not aliases.give(db, namespace, value, session.id, session.created_at):
                    raise name_taken(value, aliases.find(db, namespace, value) or "another session")
            if launch.order.conversation:
                begin(db, session.agent, launch.order.conversation, session.id, session.created_at)
            if launch.talk is not None:
                handed = launch.legacy.text if launch.legacy else None
                exchanges.save(
                    db, session.id, launch.talk.exchange(session.cwd, session.owner, f"{session.key}/prompt", handed)
                )
            sessions.keep_last_id(db, session.id)
            project.see(db, session.created_at)
            return events.append(
                db,
                session.created_at,
                session.id,
                caller.name,
                "start",
                name=session.name,
                command=_shown(session.command),
            )

        self.check_count(caller)
        if session.name in self.fleet.names:
            raise name_taken(session.name, self.fleet.names[session.name])
        self.fleet.put(session)  # before the store answers, so that two starts at once cannot both find the name free
        try:
            event = await self.fleet.store.write(write)
            if event is None:
                raise name_taken(session.name, "another session")
        except BaseException:
            self.fleet.remove(session.id)
            raise
        self.fleet.announce()

    def free_name(self, base: str) -> str:
        if base not in self.fleet.names:
            return base
        number = self._numbers.get(base, 2)
        while f"{base}-{number}" in self.fleet.names:
            number += 1
        self._numbers[base] = number  # so that the thousandth of a name is found as fast as the second
        return f"{base}-{number}"

    def _orders(self, session: Session, launch: Launch, program: str, told: Told) -> dict[str, Any]:
        """What only the command's own process needs to know, just before it becomes the command."""
        environment = launch.environment or {"PATH": USUAL_PATH}
        ours = {MARK: session.id, "LAMPLIGHTER_NAME": session.name}
        if session.driver is Driver.TERMINAL:
            ours["TERM"] = "xterm-256color"
        if launch.legacy is not None:
            ours["LAMPLIGHTER_HANDOFF"] = f"{self.fleet.folder(session.id)}/{PACKET}"
            ours["LAMPLIGHTER_PREDECESSOR"] = launch.legacy.predecessor.id
        return {
            "program": program,
            "argv": told.argv,
            "env": {**environment, **ours},
            "cwd": session.cwd,
            "umask": 0o022 if launch.umask is None else launch.umask,
            "rows": launch.rows,
            "cols": launch.cols,
            "reads": told.reads,
        }

    async def _spawn(self, session: Session, rows: int, cols: int) -> Session:
        try:
            outcome = await self._bear(session, rows, cols)
        except (LampError, RefusedError, OSError) as error:
            raise await self._fail(session, _translated(error)) from error
        if outcome is None:
            return await self._joined(session)
        if outcome["event"] == "failed":
            raise await self._fail(session, _exec_error(session, outcome))
        return await self.confirm(session, outcome)

    async def _bear(self, session: Session, rows: int, cols: int) -> dict[str, Any] | None:
        """What the shim says that the keeper forks for it; None when it was born already, and the watch finds it."""
        losses = 0
        while True:
            try:
                return await self._ask_for_birth(session, rows, cols)
            except RefusedError as error:
                if error.code != "EXISTS":
                    raise
                return None
            except BrokenError:  # the keeper was lost while it was asked, and did it or did not
                losses += 1
                if await was_born(self.fleet.folder(session.id), session.id):
                    await self.find(session.id)
                    return None
                if losses == _MOST_LOSSES:
                    raise

    async def _ask_for_birth(self, session: Session, rows: int, cols: int) -> dict[str, Any]:
        birth = asyncio.get_running_loop().create_future()
        self.started[session.id] = birth
        try:
            pane = await self.panes.open(session) if session.driver is Driver.TMUX else None
            spec = {**holding_spec(self.fleet, session), "rows": rows, "cols": cols}
            _, sock = await self.keeping.spawn(spec, pane)
            self.adopt(session.id, sock)
            return await birth
        finally:
            self.started.pop(session.id, None)

    async def _joined(self, session: Session) -> Session:
        """It was born already, before a crash of ours: the watch has found it, or finds its end. A birth that fails only now
        is taken back by its shim, and then it can be tried again."""
        lamp = self.fleet.lamps.get(session.id)
        while lamp is not None and lamp.session.state is State.STARTING:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(lamp.changed.wait(), _BIRTH_SECONDS)
                continue
            if not is_born(self.fleet.folder(session.id)):
                return await self.resume(lamp.session)
        return self._now(session)

    async def confirm(self, session: Session, hello: dict[str, Any]) -> Session:
        """The command has been executed."""
        shim, main, now = Process(*hello["shim"]), Process(*hello["main"]), self.fleet.clock.now()
        facts: dict[str, Any] = {}
        if session.driver is Driver.TMUX:
            self.panes.settle(session.id)
            facts = {"tmux": await self.panes.place(session)}

        def become(before: Session) -> Session | None:
            known = replace(before, facts={**before.facts, **facts})
            if before.state is State.STARTING:
                return known.started(now, shim, main)
            # Somebody ended it before it had started; what started is still to be known.
            return replace(known, started_at=now, shim=shim, main=main) if before.main is None else None

        lamp = self.fleet.lamps[session.id]
        lamp.guarantee = hello["guarantee"]
        self._forget_spec(session)
        await self.fleet.change(session.id, DAEMON, "started", become, pid=main.pid)
        return lamp.session

    async def _fail(self, session: Session, error: LampError) -> LampError:
        """Take back what the intent made; the event of it stays."""

        def write(db: sqlite3.Connection) -> Any:
            sessions.delete(db, session.id)
            aliases.forget(db, session.id)
            return events.append(
                db, self.fleet.clock.now(), session.id, session.owner, "start failed", code=error.code.value
            )

        if session.driver is Driver.TMUX:
            await self.panes.take_back(session)
        self.fleet.remove(session.id)
        self._remove_folder(session.id)
        await self.fleet.store.write(write)
        self.fleet.announce()
        return error

    def _make_folder(self, session: str) -> None:
        try:
            os.makedirs(self.fleet.folder(session), mode=0o700)
        except OSError as error:
            raise _disk_full(self.fleet.folder(session)) from error

    def _remove_folder(self, session: str) -> None:
        shutil.rmtree(self.fleet.folder(session), ignore_errors=True)

    def _forget_spec(self, session: Session) -> None:
        """The environment is in it: it goes as soon as the command runs; and so does what the command has open to be read."""
        names = ["launch.json", *([TOLD] if session.told.get("by") == By.INPUT else [])]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.fleet.folder(session.id)}/{name}")


def holding_spec(fleet: Fleet, session: Session) -> dict[str, Any]:
    """What a shim must know to hold a session, without what only its birth needs."""
    home, settings = fleet.settings.home, fleet.settings
    return {
        "session": session.id,
        "command": _shown(session.command)[:200],
        "driver": session.driver.value,
        "rows": 0,
        "cols": 0,
        "keep_children": session.keep_children,
        "bound": session.bound,
        "cgroup": settings.cgroup != "off",
        "max_memory": session.limits.memory,
        "grace": settings.grace,
        "folder": fleet.folder(session.id),
        "socket": home.shim_socket(session.id),
        "run": home.run,
        "state": home.state,
        "log_limit": settings.log_limit,
        "log_segment": settings.log_segment,
    }


def _counts(session: Session, caller: Caller) -> bool:
    """Whether it is one of the caller's by its own doing: an agent that only spoke to us was started by nobody here."""
    return session.owner == caller.name and session.driver is not Driver.REGISTERED


def _first_facts(launch: Launch, line: list[str], cwd: str, told: Told) -> dict[str, Any]:
    """What is kept of a session beside its columns, from its start on."""
    labels = list(dict.fromkeys(check_label(label) for label in launch.labels))
    inherits = list(launch.legacy.inherits) if launch.legacy else []
    facts: dict[str, Any] = {"line": line, "labels": labels, "discard": launch.discard, "inherits": inherits}
    facts["places"] = {name: launch.environment[name] for name in VARIABLES if name in launch.environment}
    facts |= {"told": told.document, "untested": launch.order.untested}
    facts |= first_facts(launch.order.conversation)
    facts["talk"] = {"heeds_eof": launch.talk.heeds_eof} if launch.talk else {}
    commit = commit_of(cwd)
    return {**{name: value for name, value in facts.items() if value}, **({} if commit is None else {"head": commit})}


def _born(session: Session) -> Session:
    """Started; or how it came that it cannot be said to have."""
    if session.main is not None:
        return session
    who = session.intent.by if session.intent else None
    if who is not None:
        raise ConflictError(
            Code.ENDED, f"{session.name} ({session.id}) was ended by {who} while it started", "lamp show says how"
        )
    raise UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f"the start of {session.name} ({session.id}) was interrupted where nobody can say what came of it",
        "lamp show says more; start it again",
    )


def _shown(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    return text if len(text) <= 300 else text[:299] + "…"


def name_taken(name: str, by: str) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN,
        f"a living session is called {name} already: {by}",
        "choose another name, or end that one first",
    )


def _disk_full(where: str) -> UnavailableError:
    return UnavailableError(Code.DISK_FULL, f"nothing can be written to {where}", "make room on the disk and try again")


def _translated(error: Exception) -> LampError:
    if isinstance(error, LampError):
        return error
    return UnavailableError(Code.HOLDER_UNREACHABLE, f"the keeper could not start it: {error}", "lamp doctor says more")


def _exec_error(session: Session, outcome: dict[str, Any]) -> InputError:
    number = int(outcome["errno"] or 0)
    reasons = {
        7: "the arguments and the environment are too long together",
        8: "it is no program that this machine can run",
    }
    reason = reasons.get(number, os.strerror(number))
    return InputError(
        Code.START_FAILED,
        f"{session.command[0][:100]!a} could not be started ({outcome['stage']}): {reason}",
        "make it executable, shorten the arguments, or give it its interpreter",
        errno=number,
        stage=outcome["stage"],
    )
