"""How a session ends: the intent, the exit, the death certificate. Knows nothing of signals or processes of this machine."""

from __future__ import annotations

from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from lamplighter.lazy_dataclass import dataclass


class How(StrEnum):
    """What made the end."""

    ASKED = "asked"
    TERMINATED = "terminated"
    KILLED = "killed"
    EXITED = "exited"
    LOST = "lost"


class Guarantee(StrEnum):
    """How much a certificate proves."""

    KERNEL = "kernel"
    TREE = "tree"
    BEST_EFFORT = "best_effort"


@dataclass(frozen=True)
class Exit:
    """How the main process ended: with a code, or by a signal. Neither when nobody was there to see it."""

    code: int | None = None
    signal: str | None = None

    @staticmethod
    def from_document(document: dict[str, Any] | None) -> Exit | None:
        return Exit(document.get("code"), document.get("signal")) if document else None

    def document(self) -> dict[str, Any]:
        return {"signal": self.signal} if self.signal else {"code": self.code}

    @property
    def failed(self) -> bool:
        return self.signal is not None or self.code not in (0, None)

    @property
    def words(self) -> str:
        if self.signal:
            return f"killed by {self.signal}"
        return "exit status not known" if self.code is None else f"exit status {self.code}"


@dataclass(frozen=True)
class StopSteps:
    """How a session is ended: whether it is asked first, for how long after TERM (or HUP, where `hangup` is set, and TERM that
    many seconds after it) it may leave by itself before KILL."""

    ask: bool
    grace: float
    hangup: float = 0.0


@dataclass(frozen=True)
class Intent:
    """That somebody wants the end, written before the first act. `asked_at` is set once the agent was asked, and `asked_on` is
    the same moment on the clock that is never set, from which the time for asking counts. `hangup`: HUP comes first, and TERM
    this many seconds after it."""

    by: str
    reason: str
    how: How
    grace: float
    at: float
    ask: float = 0.0
    asked_at: float | None = None
    key: str | None = None
    hangup: float = 0.0
    asked_on: float | None = None

    def ask_left(self, now: float) -> float:
        """How much longer it may be asked, whoever began with that."""
        return self.ask if self.asked_on is None else max(0.0, self.ask - max(0.0, now - self.asked_on))

    def hurried(self, grace: float) -> Intent | None:
        """Without asking, and with the shorter grace; None when nothing of that is new."""
        if not self.ask and grace >= self.grace:
            return None
        return replace(self, ask=0.0, grace=min(grace, self.grace), how=How.KILLED)

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "how": self.how.value}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Intent:
        values: dict[str, Any] = {**document, "how": How(document["how"])}
        return Intent(**values)


def _forward(entry: dict[str, Any]) -> dict[str, Any]:
    """Holders of before counted less than nothing for what had gone when the ending began."""
    seconds = entry.get("seconds")
    return {**entry, "seconds": 0.0} if seconds is not None and seconds < 0 else entry


@dataclass(frozen=True)
class Certificate:
    """Proof of death: every process seen, the signal it took, how long that took, and who is still there. `spared` is what
    hung under the session and is others'."""

    guarantee: Guarantee
    seconds: float
    processes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    survivors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    spared: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "guarantee": self.guarantee.value,
            "seconds": round(self.seconds, 6),
            "processes": self.processes,
            "survivors": self.survivors,
        }
        return {**document, "spared": self.spared} if self.spared else document

    def with_found(self, found: Certificate) -> Certificate:
        """With what was found outside the tree, or past its holder: no proof by the kernel covers that."""
        known = {(entry["pid"], entry["start_ticks"]) for entry in found.processes}
        before = [entry for entry in self.processes if (entry["pid"], entry["start_ticks"]) not in known]
        return Certificate(
            Guarantee.BEST_EFFORT,
            self.seconds + found.seconds,
            [*before, *found.processes],
            [*self.survivors, *found.survivors],
            [*self.spared, *found.spared],
        )

    @staticmethod
    def from_document(document: dict[str, Any]) -> Certificate:
        return Certificate(
            Guarantee(document["guarantee"]),
            max(0.0, float(document["seconds"])),
            [_forward(entry) for entry in document["processes"]],
            list(document["survivors"]),
            list(document.get("spared", [])),
        )


@dataclass(frozen=True)
class Ending:
    """The end of a session, kept for ever with it. `summary` is the account of its life as it was then."""

    at: float
    by: str
    reason: str
    how: How
    exit: Exit | None
    certificate: Certificate
    summary: dict[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "by": self.by,
            "reason": self.reason,
            "how": self.how.value,
            "exit": self.exit.document() if self.exit else None,
            "certificate": self.certificate.document(),
            "summary": self.summary,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Ending:
        return Ending(
            at=document["at"],
            by=document["by"],
            reason=document["reason"],
            how=How(document["how"]),
            exit=Exit.from_document(document["exit"]),
            certificate=Certificate.from_document(document["certificate"]),
            summary=dict(document.get("summary", {})),
        )


def how_it_ended(intent: Intent | None, ladder: list[str], *, left: bool = False) -> How:
    """By how far down the ladder it had to go: nothing, HUP or TERM, KILL; without an intent it left by itself. `left`: its
    command was gone before the ladder began; when it had been asked, it did as asked, and what it left behind says nothing of
    that: the certificate does."""
    if intent is None:
        return How.EXITED
    if left and intent.asked_at is not None:
        return How.ASKED
    if "KILL" in ladder:
        return How.KILLED
    return How.TERMINATED if "TERM" in ladder or "HUP" in ladder else How.ASKED
