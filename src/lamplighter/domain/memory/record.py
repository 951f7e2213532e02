"""What is kept of a session's knowledge: records, each of a type, none ever overwritten. Knows nothing of where they are kept."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Any

from lamplighter.domain.name import ID_LENGTH, make_id
from lamplighter.lazy_dataclass import dataclass

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class RecordType(StrEnum):
    """What a record says."""

    CHECKPOINT = "checkpoint"
    DECISION = "decision"
    OPEN_LOOP = "open_loop"
    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    WARNING = "warning"
    RELATIONAL_DELTA = "relational_delta"
    NEXT_SESSION_FOCUS = "next_session_focus"
    NOTE = "note"


SINGULAR = frozenset({RecordType.CHECKPOINT, RecordType.NEXT_SESSION_FOCUS, RecordType.RELATIONAL_DELTA})
"""Those of which a hand-off has one: they replace each other from hand-off to hand-off."""


class RecordState(StrEnum):
    """`active` until it is resolved (done, or dropped), superseded by a newer one, or forgotten (never shown again)."""

    ACTIVE = "active"
    RESOLVED = "resolved"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class Source(StrEnum):
    """Whose word it is. What is `inferred` is a note until somebody confirms it by superseding it."""

    END_SESSION = "end_session"
    AGENT = "agent"
    INFERRED = "inferred"
    OPERATOR = "operator"
    IMPORT = "import"


KEPT_AS: dict[RecordType, tuple[str, int]] = {
    RecordType.CHECKPOINT: ("context", 8),
    RecordType.DECISION: ("context", 7),
    RecordType.OPEN_LOOP: ("context", 7),
    RecordType.PREFERENCE: ("preference", 6),
    RecordType.CONSTRAINT: ("lesson", 9),
    RecordType.WARNING: ("lesson", 8),
    RecordType.RELATIONAL_DELTA: ("relationship", 8),
    RecordType.NEXT_SESSION_FOCUS: ("context", 7),
    RecordType.NOTE: ("general", 5),
}
"""Category and importance of each type, unless they are given."""
CATEGORIES = ("preference", "lesson", "context", "relationship", "general")
LONGEST = 20_000
WHOLE_ID = 1 + ID_LENGTH + 2
"""Characters of an id that `Ids` makes."""


@dataclass(frozen=True)
class CitedFile:
    """A file that a record rests on, with the SHA-256 that it had then (`size:…` where it was too large to read); None when it
    was not there."""

    path: str
    digest: str | None


@dataclass(frozen=True)
class RecordEvidence:
    """What a record rests on. `folder` is where the files and the commits are."""

    folder: str | None = None
    files: tuple[CitedFile, ...] = ()
    commits: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.commits)

    def document(self) -> dict[str, Any]:
        files = [{"path": cited.path, "digest": cited.digest} for cited in self.files]
        return {"folder": self.folder, "files": files, "commits": list(self.commits)} if self else {}

    @staticmethod
    def from_document(document: dict[str, Any]) -> RecordEvidence:
        files = tuple(CitedFile(cited["path"], cited["digest"]) for cited in document.get("files", []))
        return RecordEvidence(document.get("folder"), files, tuple(document.get("commits", [])))


NO_EVIDENCE = RecordEvidence()


@dataclass(frozen=True)
class Record:
    """`project` is the identity of one, None for what holds everywhere. `carried`: how many hand-offs left it open.
    `closed_why` says how it was resolved, or why forgotten; `supersedes` and `superseded_by` are ids of records."""

    id: str
    type: RecordType
    content: str
    category: str
    importance: int
    created_at: float
    by: str
    source: Source
    project: str | None = None
    session: str | None = None
    handoff: str | None = None
    evidence: RecordEvidence = NO_EVIDENCE
    state: RecordState = RecordState.ACTIVE
    carried: int = 0
    supersedes: str | None = None
    superseded_by: str | None = None
    closed_at: float | None = None
    closed_by: str | None = None
    closed_why: str | None = None

    @property
    def active(self) -> bool:
        return self.state is RecordState.ACTIVE


class Ids:
    """Ids for what may travel between hosts: sortable by time, none given twice here, and other than any that another host
    makes."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def go_on(self, newest: str) -> None:
        """Whatever the clock says, those that come are greater than this one: what is later sorts later."""
        letter, made = newest[:1], newest[1 : 1 + ID_LENGTH]
        if len(made) == ID_LENGTH and set(made) <= set(_ALPHABET):  # others' ids may be of another form
            self._last[letter] = max(made, self._last.get(letter, ""))

    def new(self, letter: str, now: float) -> str:
        """`letter` says what it is of: r a record, h a hand-off, p a packet, c a capture."""
        self._last[letter] = make_id(now, self._last.get(letter, ""))
        return letter + self._last[letter] + secrets.choice(_ALPHABET) + secrets.choice(_ALPHABET)
