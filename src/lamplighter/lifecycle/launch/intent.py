"""The intent of a start: a session as `starting` with its event, and beside it the orders that its command is born by.

Knows the row, the session's folder and what is written there, and how all of it is taken back; knows nothing of keepers
and shims.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from typing import Any

from lamplighter.agents import program_name
from lamplighter.agents.transcript import VARIABLES
from lamplighter.domain.name import check_label, check_name, make_id, name_for, name_from
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.session import Driver, Session
from lamplighter.errors import Code, UnavailableError
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.tree import HOME_MARK, MARK
from lamplighter.lifecycle.clients import place_of
from lamplighter.lifecycle.continuity.projects import Project
from lamplighter.lifecycle.continuity.repository import commit_of
from lamplighter.lifecycle.dialogue.conversations import begin, first_facts
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.launch.admission import Admission, name_taken
from lamplighter.lifecycle.launch.order import PACKET, TOLD, By, Told
from lamplighter.lifecycle.launch.preconditions import USUAL_PATH
from lamplighter.lifecycle.launch.request import Launch
from lamplighter.lifecycle.tmux.panes import intended
from lamplighter.store import aliases, events, exchanges, sessions

_ORDERS = "launch.json"


class Intents:
    def __init__(self, fleet: Fleet, admission: Admission) -> None:
        self.fleet = fleet
        self.admission = admission

    async def write(
        self, launch: Launch, program: str, cwd: str, project: Project, parent: Session | None, caller: Caller, key: str
    ) -> Session:
        """The intent: from here on the session exists, and a crash finds it."""
        now = self.fleet.clock.now()
        wanted = check_name(launch.name) if launch.name is not None else None
        identifier = self.fleet.last_id = make_id(now, self.fleet.last_id)
        line = [parent.id, parent.owner, *parent.line] if parent else []
        words = [launch.order.agent] if launch.order.agent else list(launch.command)
        base = name_from(launch.tmux_name) if launch.tmux_name else name_for(words)
        name = wanted or self.admission.free_name(base)
        told = launch.order.told(self.fleet.folder(identifier), launch.legacy.text if launch.legacy else None)
        facts = _first_facts(launch, line, cwd, told)
        if caller.rank is Rank.CLIENT and (place := place_of(caller.pid)) is not None:
            facts["client"] = place
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
        files = {_ORDERS: json.dumps(self._new_orders(session, launch, program, told)), **told.files}
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

        self.admission.check_count(caller)
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

    def _new_orders(self, session: Session, launch: Launch, program: str, told: Told) -> dict[str, Any]:
        """What only the command's own process needs to know, just before it becomes the command."""
        environment = launch.environment or {"PATH": USUAL_PATH}
        ours = {MARK: session.id, "LAMPLIGHTER_NAME": session.name, HOME_MARK: self.fleet.settings.home.state}
        if session.driver is Driver.TERMINAL:
            ours["TERM"] = "xterm-256color"
        if launch.legacy is not None:
            ours["LAMPLIGHTER_HANDOFF"] = f"{self.fleet.folder(session.id)}/{PACKET}"
            ours["LAMPLIGHTER_PREDECESSOR"] = launch.legacy.predecessor.id
        return {
            "program": program,
            "argv": told.argv,
            "env": {**launch.order.environment, **environment, **ours},
            "cwd": session.cwd,
            "umask": 0o022 if launch.umask is None else launch.umask,
            "rows": launch.rows,
            "cols": launch.cols,
            "reads": told.reads,
        }

    def orders(self, session: Session) -> dict[str, Any] | None:
        """What was written for its birth; None once the command runs, or where a crash came before it."""
        return read_json(f"{self.fleet.folder(session.id)}/{_ORDERS}")

    def forget_orders(self, session: Session) -> None:
        """The environment is in it: it goes as soon as the command runs; and so does what the command has open to be read."""
        names = [_ORDERS, *([TOLD] if session.told.get("by") == By.INPUT else [])]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.fleet.folder(session.id)}/{name}")

    async def take_back(self, session: Session, why: Code) -> None:
        """Everything that the intent made; the event of it stays."""

        def write(db: sqlite3.Connection) -> Any:
            sessions.delete(db, session.id)
            aliases.forget(db, session.id)
            return events.append(db, self.fleet.clock.now(), session.id, session.owner, "start failed", code=why.value)

        self.fleet.remove(session.id)
        self._remove_folder(session.id)
        await self.fleet.store.write(write)
        self.fleet.announce()

    def _make_folder(self, session: str) -> None:
        try:
            os.makedirs(self.fleet.folder(session), mode=0o700)
        except OSError as error:
            raise _disk_full(self.fleet.folder(session)) from error

    def _remove_folder(self, session: str) -> None:
        shutil.rmtree(self.fleet.folder(session), ignore_errors=True)


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


def _shown(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    return text if len(text) <= 300 else text[:299] + "…"


def _disk_full(where: str) -> UnavailableError:
    return UnavailableError(Code.DISK_FULL, f"nothing can be written to {where}", "make room on the disk and try again")
