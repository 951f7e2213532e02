"""What agents in no session of ours begin, hand off and start from, by what they call it. On no command line: toolsets are made
from these.
"""

from __future__ import annotations

from pydantic import Field

from lamplighter.agents import GENERIC
from lamplighter.domain.memory.record import Source
from lamplighter.domain.name import check_secretless
from lamplighter.domain.permission import Act, check_reading
from lamplighter.domain.session import Session
from lamplighter.engine.service.callers import program_of
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Folder
from lamplighter.operations.handoff import HandoffFields, prepared
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed, nameable, permitted
from lamplighter.operations.views.common import HandoffView, Moment


class Meant(Request):
    """Whose it is."""

    session: str | None = Field(
        default=None, min_length=1, max_length=200, description="what you call it; by default the one that asks"
    )
    names_of: str = Field(
        default="agent", pattern=r"^[a-z]{1,20}$", description="whose names for sessions these are: a toolset's"
    )
    folder: Folder = None


async def own_session(call: Call, meant: Meant) -> Session:
    """The session that the caller means, begun if need be, and its lease anew. FORBIDDEN when it is somebody else's."""
    check_secretless(meant.session or "", "session_id")
    await allowed(call, Act.RECORD)  # before one begins for somebody who may hand off nothing
    agent = program_of(call.app.registry, call.caller) or GENERIC
    found = await call.app.external_agents.welcome(
        call.caller, meant.session, meant.names_of, agent, meant.folder, call.key
    )
    session = await permitted(call, Act.HAND_OFF, found.id)
    if session.lease is not None and session.alive:
        await call.app.logical_sessions.speak(session, call.caller, "renewed")
    return session


class GuestView(Result):
    session: str
    name: str
    begun_at: Moment


@operation(command=None, group="memory", changes=True, act=Act.HAND_OFF)
async def begin_guest(call: Call, request: Meant) -> GuestView:
    """The caller's session; one begins when it has none."""
    session = await own_session(call, request)
    return GuestView.showing(session, session=session.id, begun_at=session.created_at)


class HandOffGuest(HandoffFields, Meant):
    pass


@operation(command=None, group="memory", changes=True, act=Act.HAND_OFF)
async def hand_off_guest(call: Call, request: HandOffGuest) -> HandoffView:
    """Store what the caller's session leaves to the next, in one transaction, and end nothing.

    The same content again stores nothing and returns the first result; other content is a newer hand-off.
    """
    if not (request.checkpoint or "").strip():
        raise InputError(
            Code.BAD_INPUT,
            "the checkpoint is empty",
            "say where the work stands, in a sentence or two; nothing was done",
        )
    request.draft("")  # what is wrong with it is said before a session begins
    if request.transcript_path:
        check_reading(call.caller)
        await nameable(call, "a transcript to be read")
    session = await own_session(call, request)
    found = await prepared(call, request, session, "", ending=False, source=Source.END_SESSION)
    assert found is not None, "there is a checkpoint"
    return HandoffView.of(await call.app.handoff_writer.store(found))
