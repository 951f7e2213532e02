"""The intent of a start: a session as `starting`, and beside it the orders that its command is born by.

Knows what the session is made of, what is written to its folder, and how all of it is taken back; knows nothing of keepers
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
from lamplighter.agents.formats.transcript import variables
from lamplighter.domain.facts import Facts
from lamplighter.domain.name import check_label, check_name, name_for, name_from
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io.conversations import begin, first_of_agent
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.enrol import enrol, free_name, name_taken, new_id
from lamplighter.engine.core.mcp_clients import place_of
from lamplighter.engine.core.planned_command import PACKET, TOLD, PlannedPrompt, PromptDelivery
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.memory.projects import Project
from lamplighter.engine.repo.repository import commit_of
from lamplighter.engine.start.admission import Admission
from lamplighter.engine.start.checks import USUAL_PATH
from lamplighter.engine.start.start_request import Launch
from lamplighter.errors import Code
from lamplighter.holder.files import read_json
from lamplighter.holder.marks import HOME_MARK, MARK
from lamplighter.store import aliases, events, exchanges, sessions

_ORDERS = "launch.json"


class Intents:
    def __init__(self, registry: SessionRegistry, backends: Backends, admission: Admission) -> None:
        self.registry = registry
        self.backends = backends
        self.admission = admission

    async def write(
        self, launch: Launch, program: str, cwd: str, project: Project, parent: Session | None, caller: Caller, key: str
    ) -> Session:
        """The intent: from here on the session exists, and a crash finds it."""
        now = self.registry.clock.now()
        wanted = check_name(launch.name) if launch.name is not None else None
        identifier = new_id(self.registry, now)
        line = [parent.id, parent.owner, *parent.line] if parent else []
        words = [launch.order.agent] if launch.order.agent else list(launch.command)
        base = name_from(launch.tmux_name) if launch.tmux_name else name_for(words)
        name = wanted or free_name(self.registry, base)
        told = launch.order.told(self.registry.folder(identifier), launch.legacy.text if launch.legacy else None)
        backend, environment = self.backends.running_in(launch.driver), launch.environment or os.environ
        facts = Facts(
            line=tuple(line),
            inherits=tuple(launch.legacy.inherits) if launch.legacy else (),
            labels=tuple(dict.fromkeys(check_label(label) for label in launch.labels)),
            discard=launch.discard,
            untested=launch.order.untested,
            places={name: launch.environment[name] for name in variables() if name in launch.environment},
            told=told.document,
            conversation=first_of_agent(launch.order.conversation),
            talk={"heeds_eof": launch.talk.heeds_eof} if launch.talk else {},
            head=commit_of(cwd),
            client=(place_of(caller.pid) or ()) if caller.rank is Rank.CLIENT else (),
            tmux=backend.first_place(name, launch.tmux_name, wanted is not None, environment),
            awake_at=self.registry.clock.monotonic(),
        )
        session = Session(
            id=identifier,
            name=name,
            kind=launch.kind,
            driver=launch.driver,
            owner=caller.name,
            command=launch.command,
            cwd=cwd,
            created_at=now,
            boot=self.registry.boot,
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
            facts=facts,
        )
        files = {_ORDERS: json.dumps(self._new_orders(session, launch, program, told)), **told.files}
        if launch.legacy is not None:
            files[PACKET] = launch.legacy.text

        def also(db: sqlite3.Connection) -> None:
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
            project.see(db, session.created_at)

        self.admission.check_count(caller)
        claim = launch.legacy.claim if launch.legacy else None
        command = _shown(session.command)
        await enrol(
            self.registry, LiveSession(session), caller, "start", also, files=files, claim=claim, command=command
        )
        return session

    def _new_orders(self, session: Session, launch: Launch, program: str, told: PlannedPrompt) -> dict[str, Any]:
        """What only the command's own process needs to know, just before it becomes the command."""
        environment = launch.environment or {"PATH": USUAL_PATH}
        ours = {MARK: session.id, "LAMPLIGHTER_NAME": session.name, HOME_MARK: self.registry.settings.home.state}
        ours |= self.backends.of(session).environment
        if launch.legacy is not None:
            ours["LAMPLIGHTER_HANDOFF"] = f"{self.registry.folder(session.id)}/{PACKET}"
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
        return read_json(f"{self.registry.folder(session.id)}/{_ORDERS}")

    def forget_orders(self, session: Session) -> None:
        """The environment is in it: it goes as soon as the command runs; and so does what the command has open to be read."""
        names = [_ORDERS, *([TOLD] if session.told.get("by") == PromptDelivery.INPUT else [])]
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.registry.folder(session.id)}/{name}")

    async def take_back(self, session: Session, why: Code) -> None:
        """Everything that the intent made; the event of it stays."""

        def write(db: sqlite3.Connection) -> Any:
            sessions.delete(db, session.id)
            aliases.forget(db, session.id)
            return events.append(
                db, self.registry.clock.now(), session.id, session.owner, "start failed", code=why.value
            )

        self.registry.remove(session.id)
        shutil.rmtree(self.registry.folder(session.id), ignore_errors=True)
        await self.registry.write(write)


def _shown(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    return text if len(text) <= 300 else text[:299] + "…"
