"""The packet that a session starts from, for whoever asks."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.memory.packet import BUDGET, LARGEST
from lamplighter.engine.memory.packet_builder import BuiltPacket
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, Folder, ProjectWord
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views.common import Moment


class LoadHandoff(Request):
    session: str | None = Field(
        default=None,
        max_length=200,
        description="predecessor: id, unique prefix of an id, or name (default: last, the last session of the project)",
    )
    project: ProjectWord = None
    budget: int = Field(default=BUDGET, ge=1, le=LARGEST, description="size limit in characters and in UTF-8 bytes")
    prompt: str | None = Field(
        default=None,
        max_length=100_000,
        description="first prompt of the next session: adds the records that fit it best, at most 2,000 characters "
        "more",
    )
    folder: Folder = None
    preview: bool = Field(default=False, description="only to look at: no receipt is kept", json_schema_extra=HIDDEN)


class BeforeView(Result):
    """Who came before."""

    id: str
    name: str
    agent: str
    at: Moment = Field(description="when it ended, or last handed off")
    close: str = Field(description="closed, killed, crashed or unclosed")
    alive: bool
    succession_policy: str | None
    inferred: bool = Field(description="it said nothing itself: what is known of it was worked out after its end")


class HandoffPacket(Result):
    packet: str = Field(description="the packet's id; the receipt is kept under it")
    text: str = Field(description="the packet: stored text stands between fences, on lines that begin with |")
    characters: int
    bytes: int = Field(description="in UTF-8")
    budget: int
    needed: int = Field(description="the least budget that would do")
    project: str | None = Field(description="its identity")
    project_name: str | None
    before: BeforeView | None = Field(description="who came before; none when nobody handed anything over")
    included: list[str] = Field(description="ids of the records that are in it")
    fitting: list[str] = Field(description="ids of those that were added for the prompt")
    left_out: list[str] = Field(description="ids of those that are not, as far as they were read")
    cuts: dict[str, int] = Field(description="how many were left out of each section")
    shortened: dict[str, int] = Field(description="how many of each section are there in part")
    digest: str = Field(description="SHA-256 of the text")
    receipt_kept: bool = Field(description="whether it is written down that this was delivered")


@operation(command="handoff", group="memory", positional=("session",))
async def load_handoff(call: Call, request: LoadHandoff) -> HandoffPacket:
    """Show the hand-off of a project's last session: the packet that a successor starts with.

    The packet has the predecessor and how it ended, every constraint in force, the next focus, the checkpoint, open loops,
    warnings, decisions, preferences, and what has changed since. It stays within the budget and counts what was cut. Stored
    text is fenced as data. Showing it claims nothing and changes no record; a receipt is kept. A budget too small for every
    constraint is refused with the size that is needed. To search all records: recall.
    """
    packed, kept = await call.app.packet_builder.deliver(
        call.caller,
        session=request.session,
        project=request.project,
        folder=request.folder,
        budget=request.budget,
        query=request.prompt,
        preview=request.preview,
    )
    return _view(packed, kept)


def _view(packed: BuiltPacket, kept: bool) -> HandoffPacket:
    receipt, before = packed.receipt, packed.before
    return HandoffPacket(
        packet=receipt["packet"],
        text=packed.text,
        characters=receipt["characters"],
        bytes=receipt["bytes"],
        budget=receipt["budget"],
        needed=packed.first.needed,
        project=receipt["project"],
        project_name=packed.project_name,
        before=BeforeView.showing(before, succession_policy=before.policy) if before else None,
        included=list(packed.first.included),
        fitting=list(packed.second.included) if packed.second else [],
        left_out=list(packed.first.left_out),
        cuts=receipt["cuts"],
        shortened=receipt["shortened"],
        digest=receipt["digest"],
        receipt_kept=kept,
    )
