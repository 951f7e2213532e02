"""Taking ended sessions out of the lists of those who call them by names of their own. The record of them stays."""

from __future__ import annotations

import sqlite3

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.session import Session
from lamplighter.errors import Code, ConflictError, LampError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.store import aliases, events


class RetireSessions(Request):
    namespace: str = Field(pattern=r"^[a-z]{1,20}$", description="whose names: openclaw, kiro, tmux")
    names: dict[str, str] = Field(max_length=1000, description="what each is called there, by id; all have ended")


class Retired(Result):
    retired: list[str] = Field(description="the ids of those that are in no list of this namespace any more")
    errors: dict[str, dict[str, object]] = Field(description="by id, why another is not")


@operation(command=None, group="sessions", changes=True, act=Act.END)
async def retire_sessions(call: Call, request: RetireSessions) -> Retired:
    """Take sessions that have ended out of the lists of a namespace, for good. What is kept of them stays where it is.

    Only whoever may end a session may; each name is given to no other session any more.
    """
    done: list[str] = []
    errors: dict[str, dict[str, object]] = {}
    for identifier, value in request.names.items():
        try:
            await _retire(call, await call.app.permitted(call, Act.END, identifier), request.namespace, value)
            done.append(identifier)
        except LampError as error:
            errors[identifier] = error.document()
    return Retired(retired=done, errors=errors)


async def _retire(call: Call, session: Session, namespace: str, value: str) -> None:
    if session.alive:
        raise ConflictError(
            Code.ACTIVE,
            f"{session.name} ({session.id}) has not ended",
            "end it first; then it can be taken out of lists",
        )
    now = call.app.clock.now()

    def write(db: sqlite3.Connection) -> None:
        given = aliases.of_sessions(db, namespace, [session.id]).get(session.id)
        if given is not None and given[1] is not None:
            return
        if given is None and not aliases.give(db, namespace, value, session.id, now):
            aliases.give(db, namespace, f"{value}#{session.id}", session.id, now)
        aliases.end(db, namespace, session.id, now)
        events.append(db, now, session.id, call.caller.name, "retire", namespace=namespace)

    await call.app.store.write(write)
    call.app.fleet.announce()
