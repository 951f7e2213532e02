"""A plan of a cleanup: which sessions would be ended and why, what must never be in it, and what takes one out again.

Knows no clock, no store and no process.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.ending import Intent
from lamplighter.domain.leak import Leak
from lamplighter.domain.permission import Act, Caller, Rank, check, may_ask
from lamplighter.domain.session import Kind, Session
from lamplighter.domain.states import BeingEnded
from lamplighter.domain.verdict import Verdict
from lamplighter.errors import ForbiddenError
from lamplighter.lazy_dataclass import dataclass

LIFETIME = 600.0
DEFAULT_SELECTION = "orphaned+leftovers+finished"


class PlanState(StrEnum):
    """Lost: the store was restored since, and does not know what became of it."""

    MADE = "made"
    APPLYING = "applying"
    APPLIED = "applied"
    LOST = "lost"


class Outcome(StrEnum):
    """What came of a row."""

    ENDED = "ended"
    SKIPPED = "skipped"
    SURVIVED = "survived"
    FAILED = "failed"

    def told(self, why: str, **more: Any) -> dict[str, Any]:
        """As it is kept with its row."""
        return {"outcome": self.value, "why": why, **more}


@dataclass(frozen=True)
class Sighting:
    """One session as it was looked at. `output` and `input` say how far both had come, so that a change shows."""

    name: str
    verdict: Verdict
    evidence: list[str]
    processes: int
    memory: int
    quiet_for: float
    active: bool
    attached: int
    output: int
    input: float

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_document(document: dict[str, Any]) -> Sighting:
        values: dict[str, Any] = {**document, "verdict": Verdict(document["verdict"])}
        return Sighting(**values)


@dataclass(frozen=True)
class Row:
    """One session of a plan, or one leak, by its id; and once it is applied what came of it: outcome, why, certificate or error.
    `begun`: what is ended of a leak was written down, and its end may have begun."""

    session: str
    found: Sighting | Leak
    outcome: dict[str, Any] | None = None
    begun: bool = False


@dataclass(frozen=True)
class PlanRequest:
    """What was asked for, by whom; with `key`, under which it is applied. Enough to go on after a crash."""

    caller: Caller
    selection: str
    grace: float
    older_than: float | None = None
    force: bool = False
    reason: str = ""
    key: str | None = None
    leaks: bool = False
    others: bool = False
    """Its rows are not the caller's: the operator's word on the whole plan applies it."""
    without: tuple[str, ...] = ()
    """Rows that whoever applies it leaves alone, by their ids."""

    def document(self) -> dict[str, Any]:
        caller = {
            "rank": self.caller.rank,
            "name": self.caller.name,
            "session": self.caller.within,
            "scopes": sorted(self.caller.scopes) if self.caller.scopes is not None else None,
            "inherits": sorted(self.caller.inherits),
            "host": self.caller.host,
        }
        return {**asdict(self), "caller": caller}

    @staticmethod
    def from_document(document: dict[str, Any]) -> PlanRequest:
        caller = document["caller"]
        scopes = caller.get("scopes")
        known = Caller(
            Rank(caller["rank"]),
            caller["name"],
            caller["session"],
            None if scopes is None else frozenset(scopes),
            frozenset(caller.get("inherits", ())),
            host=caller.get("host"),
        )
        values: dict[str, Any] = {**document, "caller": known, "without": tuple(document.get("without", ()))}
        return PlanRequest(**values)


@dataclass(frozen=True)
class Plan:
    id: str
    orders: PlanRequest
    made_at: float
    expires_at: float
    state: PlanState = PlanState.MADE
    applied_at: float | None = None
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def key(self) -> str:
        """What an intent to end carries that comes from this plan."""
        return f"cleanup:{self.id}"

    def is_behind(self, intent: Intent | None) -> bool:
        return intent is not None and intent.key == self.key

    def expired(self, now: float) -> bool:
        """Also when the clock was set back since: nobody knows then how old it is."""
        return not self.made_at <= now < self.expires_at

    def too_late(self, now: float) -> bool:
        """Whether an apply that was cut off is too old to go on with sessions it has not begun with."""
        begun = self.applied_at or self.made_at
        return not begun <= now < begun + LIFETIME

    def applying(self, key: str, now: float, grace: float | None, reason: str, without: tuple[str, ...] = ()) -> Plan:
        orders = replace(
            self.orders,
            key=key,
            grace=self.orders.grace if grace is None else grace,
            reason=reason or self.orders.reason,
            without=without,
        )
        return replace(self, state=PlanState.APPLYING, orders=orders, applied_at=now)

    def leaves_out(self, row: Row) -> str | None:
        """Why a row is left alone because it was said so with the apply."""
        if row.session not in self.orders.without:
            return None
        caller = self.orders.caller
        return f"left out by {'the operator' if caller.rank is Rank.OPERATOR else caller.name}"

    def reason(self, row: Row) -> str:
        what = row.found.verdict if isinstance(row.found, Sighting) else row.found.certainty
        return self.orders.reason or f"cleanup {self.id}: {what}"


# -- rules


def barred(session: Session, attached: int, caller: Caller, above: Collection[str]) -> str | None:
    """Why a session may be in no plan of this caller, force or not. `above`: the caller's own session and its ancestors."""
    return barred_to_all(session, attached, caller, above) or foreign(session, attached, caller)


def asked_for(session: Session, attached: int, caller: Caller) -> str | None:
    """Why it is in no plan of others' sessions, though it is in everybody's reach: the caller may end it, or may not even ask."""
    problem = foreign(session, attached, caller)
    if problem is None:
        return "it needs nobody's word: a plan without others has it"
    return None if may_ask(caller, Act.END, session, session.line, attached) else problem


def foreign(session: Session, attached: int, caller: Caller) -> str | None:
    """Why this caller may not end it, though another might."""
    try:
        check(caller, Act.END, session, session.line, attached)
    except ForbiddenError as error:
        return error.message
    return None


def barred_to_all(session: Session, attached: int, caller: Caller, above: Collection[str]) -> str | None:
    """Why a session may be in no plan that is made from where this caller is."""
    if not session.alive:
        return "it has ended"
    if isinstance(session.state, BeingEnded):
        return "it is being ended already"
    if session.protected:
        return "it is protected"
    if session.kind in (Kind.MAIN, Kind.SYSTEM):
        return f"it is a {session.kind} session"
    if session.id in above:
        return (
            "it is the session that asks" if session.id == caller.session else "the session that asks descends from it"
        )
    if attached:
        return "people are attached to it"
    return None


def unwanted(found: Sighting, orders: PlanRequest) -> str | None:
    """Why a session that matches is not in the plan all the same, though it could be. An age that was asked for takes also what
    sleeps or waits: it counts from the last input, new output or CPU."""
    if found.active and not orders.force and not orders.older_than:
        return f"it is active: {found.verdict}; force takes it too"
    return _too_young(found, orders)


def _too_young(found: Sighting, orders: PlanRequest) -> str | None:
    if orders.older_than is not None and found.quiet_for < orders.older_than:
        return f"it was quiet for {format_duration(found.quiet_for)} only"
    return None


def changed(before: Sighting, now: Sighting, orders: PlanRequest) -> str | None:
    """Why a row is skipped that was in the plan: what is different by now. With force no change matters; of what was active and
    taken for its age, that it shows a sign of life."""
    if orders.force:
        return None
    if now.input != before.input:
        return "it got input since the plan was made"
    if young := _too_young(now, orders):
        return young
    if before.active:
        return None
    if now.active:
        return f"it became active: {now.verdict}"
    if now.verdict is not before.verdict:
        return f"it was {before.verdict} and is {now.verdict} now"
    if now.output != before.output:
        return "it has printed since the plan was made"
    return None
