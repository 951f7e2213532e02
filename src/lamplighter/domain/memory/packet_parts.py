"""What a boot packet is made of. Knows nothing of how it is written, nor where any of it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from lamplighter.domain.ended_as import Close
from lamplighter.domain.memory.handoff import Policy
from lamplighter.domain.memory.record import Record
from lamplighter.lazy_dataclass import dataclass


class Section(StrEnum):
    """In the order in which they are filled. Notes are not shown, only counted in the index."""

    CONSTRAINTS = "constraints"
    FOCUS = "focus"
    LOOPS = "open_loops"
    WARNINGS = "warnings"
    DECISIONS = "decisions"
    PREFERENCES = "preferences"
    RELATION = "relational_delta"
    CHANGES = "changes"
    NOTES = "notes"


@dataclass(frozen=True)
class Before:
    """Who came before, and when they ended or last handed off. `inferred`: what they left was worked out after their end."""

    name: str
    id: str
    agent: str
    at: float
    close: Close
    policy: Policy | None = None
    inferred: bool = False
    alive: bool = False


@dataclass(frozen=True)
class Gone:
    """A session that ended meanwhile."""

    name: str
    id: str
    at: float
    close: Close


@dataclass(frozen=True)
class Since:
    """What changed since the hand-off. `more`: sessions that ended too, beside those that are named."""

    head_then: str | None = None
    head_now: str | None = None
    gone: tuple[Gone, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class PacketParts:
    """`records` are by section, in the order in which they are to be shown; every constraint that is in force is among them.
    `more` counts those of the other sections that were not read, since they could not fit. `stale` says of a record what it
    rests on that has changed. `project` is the name to be shown."""

    packet: str
    now: float
    project: str | None = None
    before: Before | None = None
    records: Mapping[Section, tuple[Record, ...]] = field(default_factory=dict[Section, tuple[Record, ...]])
    more: Mapping[Section, int] = field(default_factory=dict[Section, int])
    stale: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    since: Since = field(default_factory=Since)
