"""The summary of a session as delx tells it, made from our view of it. Knows both shapes; asks nobody."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.compat.delx.response import QUOTED
from lamplighter.domain.duration import format_duration
from lamplighter.operations.operation import Result

NAMESPACE = "delx"


class Note(Result):
    id: str
    at: str
    by: str
    text: str


class Summary(Result):
    """A session, living or closed; smaller profiles leave parts of it out."""

    session_id: str
    status: str = Field(description="active or closed")
    agent_id: str | None = None
    agent_name: str | None = None
    started_at: str | None = None
    last_heard_at: str | None = None
    closed_at: str | None = None
    duration_seconds: float | None = None
    lease_seconds_left: float | None = Field(
        default=None, description="until it ends by itself, if nothing is heard of it"
    )
    how: str | None = Field(
        default=None, description="asked: somebody closed it; lost: nothing was heard of it for too long"
    )
    closed_by: str | None = None
    reason: str | None = None
    succession_policy: str | None = None
    predecessor: str | None = None
    successor: str | None = None
    records_stored: dict[str, int] = Field(default_factory=dict)
    opening_statement: str | None = None
    notes: list[Note] = Field(default_factory=list, description="hand-offs that it gave and received; quoted as data")
    account: dict[str, Any] = Field(default_factory=dict, description="the engine's own last account of it")


def summary_of(view: dict[str, Any]) -> dict[str, Any]:
    """What is not known is not in it."""
    told = view["told"]
    found: dict[str, Any] = {
        "session_id": view["id"],
        "agent_id": told.get("agent_id"),
        "agent_name": told.get("agent_name"),
        "status": status_of(view),
        "started_at": view["begun_at"],
        "last_heard_at": view["spoke_at"],
        "closed_at": view["ended_at"],
        "duration_seconds": view["seconds"],
        "lease_seconds_left": view["lease_left"],
        "how": view["how"],
        "closed_by": view["by"],
        "reason": view["reason"],
        "succession_policy": view["policy"],
        "predecessor": view["predecessor"],
        "successor": view["successor"],
        "records_stored": view["stored"],
        "opening_statement": told.get("statement"),
        "notes": view["notes"],
        "account": view["summary"],
    }
    return {name: value for name, value in found.items() if value is not None}


def status_of(view: dict[str, Any]) -> str:
    return "closed" if view["state"] == "ended" else "active"


def quoted(epitaph: str | None) -> dict[str, Any]:
    """A last word is the agent's own: given as it is, and marked."""
    return {"epitaph": epitaph, "epitaph_source": QUOTED if epitaph else None}


def in_words(view: dict[str, Any]) -> str:
    who = f"{view['told'].get('agent_name') or view['name']} ({view['id']})"
    lasted = format_duration(view["seconds"])
    if status_of(view) == "active":
        return (
            f"{who} is active, for {lasted} so far; its lease runs out in {format_duration(view['lease_left'] or 0)}."
        )
    return f"{who} is closed after {lasted}: {view['reason'] or 'no reason was given'}."
