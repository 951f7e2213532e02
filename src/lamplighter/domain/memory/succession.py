"""Who may go on from a session that has ended. Knows policies; knows nothing of where they are kept."""

from __future__ import annotations

from collections.abc import Iterable

from lamplighter.domain.memory.handoff import Handoff, Policy
from lamplighter.domain.session import Session
from lamplighter.errors import Code, ConflictError, Hint, Option, Use

MOST = 50
"""How far back a line of sessions passes on its rights."""


def policy_of(handoffs: Iterable[Handoff]) -> Policy:
    """The last that was said; who says nothing allows a successor."""
    return next((found.policy for found in reversed(list(handoffs)) if found.policy), Policy.ALLOWED)


def check_succession(predecessor: Session, handoffs: list[Handoff], successor: Session | None) -> None:
    """Nothing when a session may go on from this one; else why not."""
    who = f"{predecessor.name} ({predecessor.id})"
    if not handoffs:
        raise ConflictError(
            Code.ACTIVE if predecessor.alive else Code.NO_HANDOFF,
            f"{who} has handed nothing over" + (" and is still running" if predecessor.alive else ""),
            Hint(
                Use("handoff", session=predecessor.id, save=True, checkpoint="TEXT"),
                " says where it stands",
                *((", or end it first: ", Use("end", session=predecessor.id)) if predecessor.alive else ()),
            ),
        )
    if successor is not None:
        raise ConflictError(
            Code.SUCCEEDED,
            f"{successor.name} ({successor.id}) has gone on from {who} already",
            Hint(
                "go on from that one: ",
                Option("from_session", successor.id),
                "; ",
                Use("lineage", session=predecessor.id),
                " shows the line",
            ),
            successor=successor.id,
        )
    if policy_of(handoffs) is Policy.CLOSED:
        raise ConflictError(
            Code.NO_SUCCESSOR,
            f"{who} was closed without a successor",
            Hint(
                "nobody goes on from it but the operator, with ",
                Option("force", True),
                "; what it stored can be found: ",
                Use("recall"),
            ),
        )


def inheritance(predecessor: Session) -> list[str]:
    """The sessions whose rights a successor has, nearest first."""
    return [predecessor.id, *predecessor.inherits][:MOST]
