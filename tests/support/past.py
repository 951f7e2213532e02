"""Sessions that ended some time ago, straight into the store, as nobody wants to wait for them. For tests only."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How
from lamplighter.domain.name import make_id
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.states import HasEnded
from lamplighter.store import handoffs, sessions
from tests.support.engine import Engine


@dataclass(frozen=True)
class Bygone:
    """From when until when, in Unix seconds."""

    name: str
    began: float
    ended: float
    how: How = How.EXITED
    project: str | None = None
    agent: str = "generic"
    cpu: float | None = None
    memory: int | None = None
    tokens: dict[str, int] | None = None


def remember(lit: Engine, *past: Bygone) -> list[str]:
    """Their ids."""
    lit.call("get_status")
    made: list[str] = []
    last = ""
    db = sqlite3.connect(lit.home.database, timeout=200)
    try:
        with db:
            for one in sorted(past, key=lambda one: one.began):
                last = make_id(one.began, last)
                sessions.insert(db, _session(last, one))
                if one.project:
                    handoffs.see_project(db, one.project, one.project, one.ended)
                made.append(last)
    finally:
        db.close()
    return made


def _session(identifier: str, one: Bygone) -> Session:
    summary: dict[str, Any] = {"cpu": one.cpu, "memory": one.memory, "tokens": one.tokens}
    certificate = Certificate(Guarantee.TREE, 0.1, [], [])
    return Session(
        id=identifier,
        name=one.name,
        kind=Kind.TASK,
        driver=Driver.TERMINAL,
        agent=one.agent,
        owner="operator",
        command=("true",),
        cwd="/",
        created_at=one.began,
        boot="",
        state=HasEnded(Ending(one.ended, "operator", "", one.how, Exit(0), certificate, summary)),
        project=one.project,
        project_id=one.project,
        started_at=one.began,
    )
