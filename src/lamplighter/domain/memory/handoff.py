"""A hand-off: what one session leaves to the next. Knows nothing of where it is kept or who may take it up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from lamplighter.domain.memory.record import RecordType, Source
from lamplighter.lazy_dataclass import dataclass


class Policy(StrEnum):
    """Whether somebody may, or must, go on from here."""

    CLOSED = "closed_without_successor"
    ALLOWED = "successor_allowed"
    REQUIRED = "successor_required"


@dataclass(frozen=True)
class Draft:
    """What is handed over, as it was given. Loops are resolved and dropped by their ids."""

    checkpoint: str | None = None
    decisions: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    relational_delta: str | None = None
    next_session_focus: str | None = None
    notes: tuple[str, ...] = ()
    project: str | None = None
    transcript_path: str | None = None
    reason: str = ""
    epitaph: str | None = None
    policy: Policy | None = None
    resolved_loops: tuple[str, ...] = ()
    dropped_loops: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is handed over at all; a reason alone is none."""
        return replace(self, reason="", project=None) != _EMPTY

    def items(self) -> list[tuple[RecordType, str]]:
        """Each text that becomes a record, in the order of the packet's sections."""
        single = {
            RecordType.CHECKPOINT: self.checkpoint,
            RecordType.NEXT_SESSION_FOCUS: self.next_session_focus,
            RecordType.RELATIONAL_DELTA: self.relational_delta,
        }
        several = {
            RecordType.CONSTRAINT: self.constraints,
            RecordType.OPEN_LOOP: self.open_loops,
            RecordType.WARNING: self.warnings,
            RecordType.DECISION: self.decisions,
            RecordType.PREFERENCE: self.preferences,
            RecordType.NOTE: self.notes,
        }
        found = [(kind, text) for kind, text in single.items() if text]
        return found + [(kind, text) for kind, texts in several.items() for text in texts]

    def digest(self) -> str:
        """The same content has the same digest."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def summary(self) -> str:
        """What it holds, in a line."""
        counts = (
            ("Decisions", self.decisions),
            ("Open loops", self.open_loops),
            ("Preferences", self.preferences),
            ("Constraints", self.constraints),
            ("Warnings", self.warnings),
        )
        parts = [f"Checkpoint: {self.checkpoint}"] if self.checkpoint else []
        parts += [f"{name}: {len(items)}" for name, items in counts if items]
        parts += ["Relational delta captured"] if self.relational_delta else []
        return ". ".join([*parts, *(["Next focus set"] if self.next_session_focus else [])])


_EMPTY = Draft()


def best(left: Iterable[Handoff]) -> Handoff | None:
    """The last that a session left, somebody's own words before inferred ones."""
    return max(left, key=lambda handoff: (not handoff.inferred, handoff.id), default=None)


@dataclass(frozen=True)
class Handoff:
    """One as it is kept. `basis` is what an inferred one rests on; `ending`: it came with the end of its session, not before.
    `stored` counts records by type; `carried` are ids of loops that it left open, the oldest of `carried_count`;
    `redacted` counts secrets taken out,
    `withheld` what was marked private."""

    id: str
    session: str | None
    project: str | None
    at: float
    by: str
    source: Source
    digest: str
    policy: Policy | None = None
    ending: bool = False
    reason: str = ""
    epitaph: str | None = None
    transcript_path: str | None = None
    summary: str = ""
    basis: tuple[str, ...] = ()
    stored: dict[str, int] = field(default_factory=dict[str, int])
    records: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    carried_count: int = 0
    redacted: int = 0
    withheld: int = 0
    evidence: tuple[Handoff, ...] = ()
    """What had been inferred of the session, where somebody said it as well."""

    @property
    def inferred(self) -> bool:
        return self.source is Source.INFERRED

    def document(self) -> dict[str, Any]:
        alone = asdict(replace(self, evidence=()))
        del alone["evidence"]  # each is kept by itself
        return {**alone, "source": self.source.value, "policy": self.policy.value if self.policy else None}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Handoff:
        values = dict(document)
        for name in ("basis", "records", "resolved", "dropped", "carried"):
            values[name] = tuple(values[name])
        values["source"] = Source(values["source"])
        values["policy"] = Policy(values["policy"]) if values["policy"] else None
        return Handoff(**values)
