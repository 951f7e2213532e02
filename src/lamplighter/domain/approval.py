"""An approval: what a caller may not do by itself, asked of the operator. Which call it is for, and what becomes of it.

Knows no clock, no store and no caller but by name. It holds for one call, by one caller, on one session, once.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.timestamp import timestamp
from lamplighter.errors import Approved, Code, ConflictError, ForbiddenError, Hint, Use
from lamplighter.lazy_dataclass import dataclass

LIFETIME = 600.0
MOST_OPEN = 20
LONGEST = 64 << 10
MOST_ROWS = 10_000
_FIRST_ROWS = 5
_LISTS = ("rows", "without")  # of a plan: a line each, not prose that has to be read through
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH, _SHOWN = 20, 4  # 100 bits; 80 of them stay hidden where others can read
_UNTOLD = frozenset({"approval", "environment"})


class Standing(StrEnum):
    """Asked, until the operator decides; a decision can be taken back until the approval is used."""

    ASKED = "asked"
    GRANTED = "granted"
    REFUSED = "refused"
    USED = "used"


@dataclass(frozen=True)
class Wish:
    """A call that is refused without an approval. `session` is what its word means now, `why` the refusal in words.

    `session` can be the id of a plan of a cleanup instead: then `arguments` name its rows, and the word is for just those.
    `approval` is the id that came with the call; `implicit`: without one, take the one that is granted for just this. `reads`:
    it shows something and changes nothing, so the same key again would be another look. `of_ended`: an ended session will do.
    """

    caller: Caller
    operation: str
    session: str
    alive: bool
    arguments: dict[str, Any]
    key: str
    why: str
    reads: bool = False
    of_ended: bool = False
    approval: str | None = None
    implicit: bool = False

    @property
    def digest(self) -> str:
        return digest_of(self.arguments)

    @property
    def subject(self) -> dict[str, Any]:
        """What it is about, as errors say it."""
        if not is_plan(self.session):
            return {"session": self.session}
        rows = self.arguments["rows"]
        return {"plan": self.session, "count": len(rows), **shortened({"rows": rows})}


@dataclass(frozen=True)
class Approval:
    """`arguments` are what the operator decides on, and are gone once that is over: they may hold what is to be typed."""

    id: str
    caller: str
    rank: Rank
    operation: str
    session: str
    digest: str
    why: str
    asked_at: float
    expires_at: float
    arguments: dict[str, Any] | None = field(default=None)
    state: Standing = Standing.ASKED
    decided_by: str | None = None
    decided_at: float | None = None
    used_at: float | None = None
    key: str | None = None

    @property
    def label(self) -> str:
        """What events call it: enough to tell it from others, too little to use it."""
        return self.id[: len("ap-") + _SHOWN]

    @property
    def target(self) -> str | None:
        """The session that it is about; of a plan none."""
        return None if is_plan(self.session) else self.session

    def expired(self, now: float) -> bool:
        return now >= self.expires_at

    def is_open(self, now: float) -> bool:
        return self.state in (Standing.ASKED, Standing.GRANTED) and not self.expired(now)

    def is_for(self, wish: Wish) -> bool:
        """Whether this very call was asked for: same caller, same operation, same arguments, same session."""
        asked = (self.caller, self.rank, self.operation, self.session, self.digest)
        return asked == (wish.caller.name, wish.caller.rank, wish.operation, wish.session, wish.digest)

    def decided(self, grant: bool, by: str, now: float) -> Approval:
        """As the operator decides; APPROVAL_USED or APPROVAL_EXPIRED when it is too late for that."""
        if self.state is Standing.USED:
            raise used(self.id)
        if self.expired(now):
            raise expired(self)
        state = Standing.GRANTED if grant else Standing.REFUSED
        arguments = self.arguments if grant else None
        return replace(self, state=state, decided_by=by, decided_at=now, arguments=arguments)

    def taken(self, wish: Wish, now: float) -> Approval:
        """As it is once this call has used it; itself when it has before, under the same key; else the reason why not."""
        if not self.is_for(wish):
            raise not_for_this(wish)
        if self.state is Standing.USED:
            if self.key != wish.key or wish.reads:
                raise used(self.id)
            if self.expired(now) and wish.alive:
                raise expired(self)
            return self
        if self.state is Standing.REFUSED:
            raise refused(wish)
        if self.expired(now):
            raise expired(self)
        if self.state is Standing.ASKED:
            raise needed(self, wish)
        return replace(self, state=Standing.USED, used_at=now, key=wish.key, arguments=None)

    def given_back(self, arguments: dict[str, Any]) -> Approval:
        """Granted again: the call that took it was refused for another reason, before it had done anything."""
        return replace(self, state=Standing.GRANTED, used_at=None, key=None, arguments=arguments)


def ask(wish: Wish, now: float) -> Approval:
    return Approval(
        id="ap-" + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)),
        caller=wish.caller.name,
        rank=wish.caller.rank,
        operation=wish.operation,
        session=wish.session,
        digest=wish.digest,
        why=wish.why,
        asked_at=now,
        expires_at=now + LIFETIME,
        arguments=told(wish.arguments),
    )


def is_plan(subject: str) -> bool:
    """Whether it is the id of a plan; no session has such an id."""
    return subject.startswith("plan-")


def told(arguments: dict[str, Any]) -> dict[str, Any]:
    """What of a call's arguments says what it does."""
    return {name: value for name, value in arguments.items() if name not in _UNTOLD}


def digest_of(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(_text(arguments).encode()).hexdigest()


def shortened(arguments: dict[str, Any]) -> dict[str, Any]:
    """Of a plan the first rows, and how many more there are."""
    shown: dict[str, Any] = {}
    for name, value in arguments.items():
        few = value[:_FIRST_ROWS] if name in _LISTS else value
        shown[name] = few
        if few != value:
            shown[f"{name}_left_out"] = len(value) - len(few)
    return shown


def check_readable(wish: Wish) -> None:
    """FORBIDDEN when no person can be asked to read it before deciding. A plan is read as a table: its rows are counted."""
    prose = wish.arguments
    if is_plan(wish.session):
        if len(prose["rows"]) > MOST_ROWS:
            raise too_many_rows(wish)
        prose = {name: value for name, value in prose.items() if name not in _LISTS}
    if len(_text(prose)) > LONGEST:
        raise unreadable(wish)


def _text(arguments: dict[str, Any]) -> str:
    return json.dumps(told(arguments), sort_keys=True)


# -- what a caller is told


def needed(approval: Approval, wish: Wish) -> ForbiddenError:
    until = timestamp(approval.expires_at)
    granted = approval.state is Standing.GRANTED
    then = Hint("repeat exactly this call", Approved(approval.id), f"; it holds once, until {until}")
    return ForbiddenError(
        Code.APPROVAL_NEEDED,
        f"{wish.why}; the operator {'has granted it' if granted else 'is asked'}",
        then if granted else Hint("the operator grants it with ", Use("approve", request=approval.id), "; then ", then),
        request=approval.id,
        expires_at=until,
        **wish.subject,
    )


def not_for_this(wish: Wish) -> ForbiddenError:
    """The same words for an id that does not exist, is somebody else's, or is for another call."""
    return _forbidden(
        wish,
        "the approval is not for this call by this caller",
        "an approval holds for the very call that was asked for; call without one to ask for this",
    )


def refused(wish: Wish) -> ForbiddenError:
    return _forbidden(
        wish, "the operator was asked, and refused it", "do without it; asking for the same again is of no use"
    )


def too_many(wish: Wish) -> ForbiddenError:
    return _forbidden(
        wish,
        f"and {MOST_OPEN} requests of {wish.caller.name} wait for the operator already",
        "wait until the operator has decided, or until they expire: each holds for ten minutes",
    )


def unreadable(wish: Wish) -> ForbiddenError:
    return _forbidden(
        wish,
        f"and it is too long to be read by the operator: {LONGEST >> 10} KiB at most",
        "ask for less at once, or name a file that holds it",
    )


def too_many_rows(wish: Wish) -> ForbiddenError:
    return _forbidden(
        wish,
        f"and it is too much for one word of the operator: {MOST_ROWS} rows at most",
        "make several smaller plans, each with a narrower selection",
    )


def _forbidden(wish: Wish, why: str, hint: str) -> ForbiddenError:
    return ForbiddenError(Code.FORBIDDEN, f"{wish.why}; {why}", hint, **wish.subject)


def used(identifier: str) -> ConflictError:
    return ConflictError(
        Code.APPROVAL_USED,
        f"the approval {identifier} was used, and each is used once",
        Hint(Use("events"), " shows what came of it; call without an approval to ask again"),
    )


def expired(approval: Approval) -> ConflictError:
    return ConflictError(
        Code.APPROVAL_EXPIRED,
        f"the approval {approval.id} has expired: it held until {timestamp(approval.expires_at)}",
        "call without an approval to ask again",
    )
