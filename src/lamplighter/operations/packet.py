"""The packet that a session starts from, for whoever asks."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.ingredients import Before
from lamplighter.domain.packet import BUDGET, LARGEST
from lamplighter.lifecycle.continuity.packing import Packed
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.views import moment


class LoadHandoff(Request):
    session: str | None = Field(
        default=None,
        max_length=200,
        description="who came before: id, unique beginning of an id, or name; last, or nothing, for the last of the project",
    )
    project: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="which project: its name, its identity or a folder; by default that of the caller",
    )
    budget: int = Field(default=BUDGET, ge=1, le=LARGEST, description="characters and UTF-8 bytes at most")
    prompt: str | None = Field(
        default=None,
        max_length=100_000,
        description="the first prompt: adds what fits it best, in at most 2,000 characters more",
    )
    folder: str | None = Field(
        default=None, max_length=4096, description="where the caller is", json_schema_extra={"hidden": True}
    )
    preview: bool = Field(
        default=False, description="only to look at: no receipt is kept", json_schema_extra={"hidden": True}
    )


class BeforeView(Result):
    """Who came before."""

    id: str
    name: str
    agent: str
    at: str = Field(description="when it ended, or last handed off")
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
    """Show what the last session of a project left to the next: the packet that a successor starts from.

    Who came before and how it ended, every constraint in force, the next focus and the checkpoint, open loops, warnings,
    decisions, preferences, what has changed since, and what was left out, all within the budget and each cut counted. What
    was stored is fenced as data. Reading it claims nothing and changes no record; a receipt is kept. A budget too small for
    every constraint is refused with the size that would do. To search all that is kept: recall.
    """
    packed, kept = await call.app.packing.deliver(
        call.caller,
        session=request.session,
        project=request.project,
        folder=request.folder,
        budget=request.budget,
        query=request.prompt,
        preview=request.preview,
    )
    return _view(packed, kept)


def _view(packed: Packed, kept: bool) -> HandoffPacket:
    receipt = packed.receipt
    return HandoffPacket(
        packet=receipt["packet"],
        text=packed.text,
        characters=receipt["characters"],
        bytes=receipt["bytes"],
        budget=receipt["budget"],
        needed=packed.first.needed,
        project=receipt["project"],
        project_name=packed.project_name,
        before=_before(packed.before) if packed.before else None,
        included=list(packed.first.included),
        fitting=list(packed.second.included) if packed.second else [],
        left_out=list(packed.first.left_out),
        cuts=receipt["cuts"],
        shortened=receipt["shortened"],
        digest=receipt["digest"],
        receipt_kept=kept,
    )


def _before(before: Before) -> BeforeView:
    return BeforeView(
        id=before.id,
        name=before.name,
        agent=before.agent,
        at=moment(before.at) or "",
        close=before.close.value,
        alive=before.alive,
        succession_policy=before.policy.value if before.policy else None,
        inferred=before.inferred,
    )
