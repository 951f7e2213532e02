"""Asking the operator, the operator's word, and its use: each one transaction, with its event.

Knows the store and the events; knows nothing of how a call is carried out, or of who may decide: whoever calls `decide` has
been checked.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from lamplighter.domain import approval as rules
from lamplighter.domain.approval import LIFETIME, MOST_OPEN, Approval, Standing, Wish
from lamplighter.domain.permission import Caller, Rank
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, ForbiddenError, Hint, LampError, MissingError, UnavailableError, Use
from lamplighter.store import approvals, events

_KEPT_SECONDS = 7 * 86400.0


class Approvals:
    def __init__(self, registry: SessionRegistry, backends: Backends) -> None:
        self.registry = registry
        self.backends = backends

    # -- for a call that was refused

    async def settle(self, wish: Wish, refusal: ForbiddenError) -> Wish | None:
        """Goes through when this call is approved: with the approval that it uses now, or None when it did before.

        Else what the caller is told: APPROVAL_NEEDED with a request that the operator can grant, or why there is none.
        """
        try:
            if wish.approval is not None:
                return await self._use(wish)
            found = await self._fitting(wish) if wish.implicit else None
            if found is not None:
                return await self._use(replace(wish, approval=found))
            raise rules.needed(await self._ask(wish, refusal), wish)
        except LampError as error:
            if error.code is not Code.APPROVAL_NEEDED:
                detail = {**refusal.details, "code": error.code.value}
                target = None if rules.is_plan(wish.session) else wish.session
                await self.registry.note_if_possible(target, wish.caller, "refused", **detail)
            if isinstance(error, UnavailableError):  # no request can be kept now: what is refused stays refused
                raise refusal from error
            raise

    async def _ask(self, wish: Wish, refusal: ForbiddenError) -> Approval:
        """The request for this call: the one that is open, or a new one."""
        if not wish.alive and not wish.of_ended:
            raise refusal
        rules.check_readable(wish)
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> Approval:
            approvals.blot_out_expired(db, now)
            for found in approvals.of_call(db, wish.caller.name, wish.operation, wish.digest):
                if not found.is_for(wish) or found.expired(now) or found.state is Standing.USED:
                    continue
                if found.state is Standing.REFUSED:
                    raise rules.refused(wish)
                return found
            if approvals.count_open(db, wish.caller.name, now) >= MOST_OPEN:
                raise rules.too_many(wish)
            return self._keep(db, rules.ask(wish, now), wish.caller.name, "approval asked")

        return await self.registry.write(write)

    async def _use(self, wish: Wish) -> Wish | None:
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> Wish | None:
            found = approvals.get(db, wish.approval or "")
            if found is None:
                raise rules.not_for_this(wish)
            taken = found.taken(wish, now)
            if taken == found:
                return None
            self._keep(db, taken, wish.caller.name, "approval used")
            return wish

        return await self.registry.write(write)

    async def give_back(self, wish: Wish) -> None:
        """The call took it, and was then refused for another reason before it had done anything."""

        def write(db: sqlite3.Connection) -> None:
            found = approvals.get(db, wish.approval or "")
            if found is not None and found.state is Standing.USED and found.key == wish.key:
                back = found.given_back(rules.told(wish.arguments))
                self._keep(db, back, wish.caller.name, "approval given back")

        await self.registry.write(write)

    async def _fitting(self, wish: Wish) -> str | None:
        """For a call that cannot name its approval: the one that it has used already, or one that is granted for it."""
        now = self.registry.clock.now()
        asked = await self._of_call(wish.caller, wish.operation, wish.digest)
        fitting = [found for found in asked if found.is_for(wish)]
        used = [found for found in fitting if found.state is Standing.USED and found.key == wish.key]
        before = [] if wish.reads else used
        granted = [found for found in fitting if found.state is Standing.GRANTED and found.is_open(now)]
        return next((found.id for found in (*before, *granted)), None)

    async def _of_call(self, caller: Caller, operation: str, digest: str) -> list[Approval]:
        return await self.registry.store.get(lambda db: approvals.of_call(db, caller.name, operation, digest))

    # -- deciding

    async def decide(self, word: str, *, grant: bool, by: Caller, repeated: bool = False) -> Approval:
        """The operator's word. It can be changed until the approval is used or has expired. `repeated`: the call may have been
        carried out before a crash, and what was granted used since; then that is what happened."""
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> Approval:
            found = _find(db, word)
            if repeated and grant and found.state is Standing.USED and found.decided_by == by.name:
                return found
            return self._decide(db, found, grant, by.name, now)

        decided = await self.registry.write(write)
        await self.backends.decided(decided)
        return decided

    async def grant(self, request_id: str, by: str, caller: Caller) -> Approval:
        """The word of the person at a client in no session, given to that client itself. Nobody else can be asked so."""
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> Approval:
            found = approvals.get(db, request_id)
            own = found is not None and (found.caller, found.rank) == (caller.name, caller.rank)
            if found is None or not own or caller.rank is not Rank.CLIENT or not found.is_open(now):
                raise ForbiddenError(
                    Code.FORBIDDEN,
                    f"{caller.name} may not grant this: it is no open request of a client in no session",
                    Hint("the operator grants requests with ", Use("approve")),
                )
            return self._decide(db, found, True, by, now)

        try:
            return await self.registry.write(write)
        except ForbiddenError:
            await self.registry.note_if_possible(None, caller, "refused", operation="grant")
            raise

    def _decide(self, db: sqlite3.Connection, found: Approval, grant: bool, by: str, now: float) -> Approval:
        wanted = Standing.GRANTED if grant else Standing.REFUSED
        decided = found.decided(grant, by, now)
        return found if found.state is wanted else self._keep(db, decided, by, f"approval {wanted.value}")

    # -- looking

    async def open(self) -> list[Approval]:
        now = self.registry.clock.now()
        return await self.registry.store.read(lambda db: approvals.all_open(db, now))  # plans may be long

    async def find(self, word: str) -> Approval:
        return await self.registry.store.get(lambda db: _find(db, word))

    async def waiting(self) -> int:
        """How many requests wait for the operator."""
        now = self.registry.clock.now()
        return await self.registry.store.get(lambda db: approvals.count_asked(db, now))

    async def forget_old(self) -> None:
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> None:
            approvals.blot_out_expired(db, now)
            approvals.forget_before(db, now - _KEPT_SECONDS)

        await self.registry.store.write(write)

    # -- keeping

    def _keep(self, db: sqlite3.Connection, approval: Approval, by: str, action: str) -> Approval:
        """The approval as it is now, and the event of that: never what is to be typed, never enough of the id to use it."""
        approvals.save(db, approval)
        at = self.registry.clock.now()
        detail = {"request": approval.label, "operation": approval.operation, "caller": approval.caller}
        if approval.target is None:
            detail["plan"] = approval.session
        events.append(db, at, approval.target, by, action, **detail)
        return approval


def _find(db: sqlite3.Connection, word: str) -> Approval:
    """By id, or by the beginning of one."""
    found = approvals.beginning(db, word) if word.startswith("ap-") and len(word) > len("ap-") else []
    if len(found) == 1:
        return found[0]
    if found:
        raise MissingError(Code.AMBIGUOUS, f"{word[:60]!a} begins more than one request", "give more of the id")
    raise MissingError(
        Code.NOT_FOUND,
        f"there is no request {word[:60]!a}",
        Hint(Use("approve"), f" lists those that are open; each holds for {LIFETIME / 60:.0f} minutes"),
    )
