"""Cleaning up in two steps: a plan that ends nothing, and its apply, which looks at every row once more.

An apply is written down before its first act and goes on whoever asked for it is gone; after a crash the next daemon goes on
with it by itself. The rules are `domain.plan`'s; the endings are `stop`'s.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from lamplighter.domain.ending import StopSteps
from lamplighter.domain.leak import Certainty, Leak
from lamplighter.domain.permission import Caller
from lamplighter.domain.plan import (
    LIFETIME,
    Outcome,
    Plan,
    PlanRequest,
    PlanState,
    Row,
    Sighting,
    asked_for,
    barred,
    barred_to_all,
    changed,
    foreign,
    unwanted,
)
from lamplighter.domain.selection import Selection
from lamplighter.domain.session import Session
from lamplighter.domain.states import intent_of
from lamplighter.domain.timestamp import timestamp
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks, persist
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.observe.assessor import Assessment, Assessor
from lamplighter.engine.scan.leaks import Leaks, still
from lamplighter.engine.scan.scanner import Survey
from lamplighter.engine.service.selector import Selector
from lamplighter.errors import (
    Code,
    ConflictError,
    ForbiddenError,
    Hint,
    InputError,
    LampError,
    MissingError,
    UnavailableError,
    Use,
)
from lamplighter.store import events, losses, plans
from lamplighter.store.losses import Epoch

log = logging.getLogger(__name__)
_SIDE_BY_SIDE = 64
_KEPT_SECONDS = 7 * 86400.0
_SETTLE_LOOKS = 6
_SETTLE_SECONDS = 0.5


class Omission(NamedTuple):
    """What matches but is not in a plan. `foreign`: it would be, if it were the caller's."""

    found: Assessment
    why: str
    foreign: bool


class Run:
    """An apply under way: its rows, each with its outcome as soon as there is one."""

    def __init__(self, plan: Plan, resumed: bool) -> None:
        self.plan = plan
        self.resumed = resumed
        self.rows = {row.session: row for row in plan.rows}
        self.done = [row for row in plan.rows if row.outcome is not None]
        self.finished = False
        self.survey: asyncio.Future[Survey] | None = None
        self._news = asyncio.Event()

    def put(self, row: Row) -> None:
        self.rows[row.session] = row
        self.done.append(row)
        self.notify()

    def notify(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self) -> AsyncIterator[Row]:
        """Every row that is done, those of before first, until all are."""
        told = 0
        while told < len(self.done) or not self.finished:
            if told == len(self.done):
                await self._news.wait()
                continue
            told += 1
            yield self.done[told - 1]


class Cleanup:
    def __init__(
        self,
        registry: SessionRegistry,
        assessor: Assessor,
        selector: Selector,
        ender: Ender,
        tasks: Tasks,
        leaks: Leaks,
    ) -> None:
        self.registry = registry
        self.leaks = leaks
        self.assessor = assessor
        self.selector = selector
        self.ender = ender
        self.tasks = tasks
        self._runs: dict[str, Run] = {}

    # -- the plan

    async def plan(
        self,
        selection: Selection,
        orders: PlanRequest,
        known_as: Mapping[str, str] | None = None,
        standing: Sequence[Plan] = (),
    ) -> tuple[Plan, list[Omission]]:
        """The plan, kept, or that of the `standing` ones which has the same rows; and what matches but is not in it, each with
        why."""
        above, caller = await self._above(orders.caller), orders.caller
        rows, left_out = list[Row](), list[Omission]()
        for found in await self.selector.choose(selection, caller, known_as=known_as):
            now = sighting(found)
            barrier = barred_to_all(found.session, found.attached, caller, above)
            others, reluctance = foreign(found.session, found.attached, caller), unwanted(now, orders)
            beyond = asked_for(found.session, found.attached, caller) if orders.others else others
            why = barrier or beyond or reluctance
            if why:
                left_out.append(Omission(found, why, others is not None and not barrier and not reluctance))
            else:
                rows.append(Row(found.session.id, now))
        same = (one for one in standing if {row.session for row in one.rows} == {row.session for row in rows})
        return next(same, None) or await self._keep(orders, rows), left_out

    async def plan_leaks(self, orders: PlanRequest, wanted: Collection[str]) -> tuple[Plan, list[Leak]]:
        """The plan of what others left behind, kept, and what is not in it: of all that was found the certain ones, or those
        that are named, whatever they are."""
        found = (await self.leaks.look()).leaks
        known = {leak.id for leak in found}
        for missing in (one for one in wanted if one not in known):
            raise MissingError(
                Code.NOT_FOUND, f"there is no leak {missing[:60]!a}", Hint(Use("scan"), " lists what there is now")
            )
        before = self.registry.clock.now() - (orders.older_than or 0.0)
        chosen = [
            leak
            for leak in found
            if (leak.id in wanted if wanted else leak.certainty is Certainty.CERTAIN)
            and all(each.since <= before for each in leak.processes)
        ]
        plan = await self._keep(orders, [Row(leak.id, leak) for leak in chosen])
        return plan, [leak for leak in found if leak not in chosen]

    async def _keep(self, orders: PlanRequest, rows: list[Row]) -> Plan:
        made = self.registry.clock.now()
        plan = Plan(f"plan-{secrets.token_hex(4)}", orders, made, made + LIFETIME, rows=rows)
        await self.registry.write(lambda db: self._insert(db, plan))
        return plan

    def _insert(self, db: sqlite3.Connection, plan: Plan) -> None:
        plans.insert(db, plan)
        if plan.rows:  # an empty one changes nothing that anybody could ask about later
            self._note(db, plan, "plan", sessions=len(plan.rows))

    async def open_plans(self, caller: Caller) -> list[tuple[str, int, str]]:
        """Those of this caller that can still be applied: id, how many sessions, and what was selected."""
        now = self.registry.clock.now()
        found = await self.registry.store.read(lambda db: plans.open_of(db, caller.name))
        return [(plan.id, len(plan.rows), plan.orders.selection) for plan in found if not plan.expired(now)]

    async def _above(self, caller: Caller) -> set[str]:
        """The session that the caller is in, and its ancestors."""
        if caller.session is None:
            return set()
        session = await self.registry.get(caller.session)
        above = {caller.session, *(session.line if session else ())}
        while session is not None and session.parent is not None and session.parent in self.registry.live_sessions:
            session = self.registry.live_sessions[session.parent].session
            if session.id in above:
                break
            above.add(session.id)
        return above

    # -- applying

    async def apply(
        self,
        identifier: str,
        caller: Caller,
        key: str,
        grace: float | None,
        reason: str,
        without: tuple[str, ...] = (),
    ) -> Run:
        """The apply, begun; or the one of the same key, which may be done. `without` are rows that are left alone."""
        plan = await self.find(identifier, caller)
        if plan.state is PlanState.MADE:
            check_rows(plan, without)
            plan = await self._begin(plan, plan.applying(key, self.registry.clock.now(), grace, reason, without))
        if plan.orders.key != key:
            raise _applied(plan)
        return self._run(plan, resumed=False)

    async def find(self, identifier: str, caller: Caller) -> Plan:
        """A plan of this caller's, unless it is of before a loss of the store."""
        plan, epoch = await self.registry.store.read(lambda db: (plans.get(db, identifier), losses.epoch(db)))
        if plan is None:
            raise _missing(identifier, epoch)
        if plan.orders.caller.name != caller.name:
            await self.registry.note_if_possible(None, caller, "refused", act="apply", plan=plan.id)
            raise ForbiddenError(
                Code.FORBIDDEN,
                f"{caller.name} may not apply {plan.id}: it is a plan of {plan.orders.caller.name}",
                Hint("make a plan of your own with ", Use("cleanup")),
            )
        if plan.state is PlanState.LOST:
            raise ConflictError(
                Code.PLAN_EXPIRED,
                f"{plan.id} holds no more: the store was lost since it was made, and nothing more of it is begun",
                Hint("make a new one: ", Use("cleanup", selection=plan.orders.selection)),
            )
        return plan

    async def _begin(self, plan: Plan, begun: Plan) -> Plan:
        """The intent of all of it, in one transaction, before the first act. As it is, when another call was first."""
        self.check_age(plan)

        def write(db: sqlite3.Connection) -> bool:
            first = plans.begin(db, begun)
            if first and plan.rows:
                self._note(db, begun, "apply", sessions=len(plan.rows))
            return first

        first = await self.registry.write(write, must=True)
        return begun if first else await self.find(plan.id, plan.orders.caller)

    def check_age(self, plan: Plan) -> None:
        if plan.expired(self.registry.clock.now()):
            raise ConflictError(
                Code.PLAN_EXPIRED,
                f"{plan.id} has expired: sessions change, and a plan holds for {LIFETIME / 60:.0f} minutes",
                Hint("make a new one: ", Use("cleanup", selection=plan.orders.selection)),
            )

    def _run(self, plan: Plan, *, resumed: bool) -> Run:
        run = self._runs.get(plan.id)
        if run is None:
            run = Run(plan, resumed)
            if plan.state is PlanState.APPLIED:
                run.finished = True
                return run
            self._runs[plan.id] = run
            self.tasks.begin(self._carry_out(run), f"apply of {plan.id}")
        return run

    async def resume(self) -> None:
        """Go on with every apply that a crash cut off, whether or not anybody asks again."""
        for identifier in await self.registry.store.read(plans.unfinished):
            plan = await self.registry.store.read(lambda db, wanted=identifier: plans.get(db, wanted))
            if plan is not None:
                self._run(plan, resumed=True)

    async def forget_old_plans(self) -> None:
        before = self.registry.clock.now() - _KEPT_SECONDS
        await self.registry.store.write(lambda db: plans.forget_before(db, before))

    async def _carry_out(self, run: Run) -> None:
        """Every row that has no outcome yet, side by side."""
        plan = run.plan
        above = await persist(lambda: self._above(plan.orders.caller), f"the apply of {plan.id}")
        room = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def one(row: Row) -> None:
            async with room:
                outcome = await self._outcome(run, row, above)
            await self._persist(lambda db: plans.keep_outcome(db, plan.id, row.session, outcome))
            run.put(replace(row, outcome=outcome))

        await asyncio.gather(*(one(row) for row in plan.rows if row.outcome is None))
        await self._persist(lambda db: self._finish(db, run))
        self.registry.announce()
        run.finished = True
        run.notify()
        self._runs.pop(plan.id, None)

    def _finish(self, db: sqlite3.Connection, run: Run) -> None:
        plans.finish(db, run.plan.id)
        if run.rows:
            outcomes = [row.outcome["outcome"] for row in run.rows.values() if row.outcome]
            counts = {outcome.value: outcomes.count(outcome.value) for outcome in Outcome}
            self._note(db, run.plan, "applied", **counts)

    # -- one row

    async def _outcome(self, run: Run, row: Row, above: set[str]) -> dict[str, Any]:
        """What comes of a row, whatever goes wrong with it: the others are none of its business."""
        try:
            if left := run.plan.leaves_out(row):
                return Outcome.SKIPPED.told(left)
            if isinstance(row.found, Leak):
                return await self._end_leak(run, row, row.found)
            session = await self.registry.by_id(row.session)
            if not run.plan.is_behind(intent_of(session.state)):
                why = await self._objection(run, row, session, above)
                if why:
                    return Outcome.SKIPPED.told(why)
            return await self._end(run.plan, row, session)
        except LampError as error:
            return Outcome.FAILED.told(error.message, error=error.document())
        except Exception as error:
            log.exception("%s: the row of %s failed", run.plan.id, row.session)
            fault = UnavailableError(
                Code.INTERNAL, f"something went wrong inside: {error}", "the daemon's log says what"
            )
            return Outcome.FAILED.told(fault.message, error=fault.document())

    async def _end_leak(self, run: Run, row: Row, leak: Leak) -> dict[str, Any]:
        if not row.begun and run.resumed and run.plan.too_late(self.registry.clock.now()):
            return Outcome.SKIPPED.told("the apply was cut off too long ago")

        if not row.begun:
            # One look for all rows, before the first is touched: what one of them leaves would look changed to the next.
            run.survey = run.survey or asyncio.ensure_future(self.leaks.look())
            now, why = still(leak, await asyncio.shield(run.survey))
            if now is None:
                return Outcome.SKIPPED.told(why)
            await self._persist(lambda db: plans.keep_intent(db, run.plan.id, now))
            leak = now
        return await self.leaks.end(leak, run.plan.orders.grace)

    async def _objection(self, run: Run, row: Row, session: Session, above: set[str]) -> str | None:
        """Why it must not be ended now. A daemon that has just started is given time to know the session again."""
        if run.resumed and run.plan.too_late(self.registry.clock.now()):
            return "the apply was cut off too long ago"
        why = await self._look(run.plan, row, session, above)
        for _ in range(_SETTLE_LOOKS if run.resumed else 0):
            if why is None:
                break
            live = self.registry.live_sessions.get(row.session)
            if live is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(live.changed.wait(), _SETTLE_SECONDS)
            why = await self._look(run.plan, row, session, above)
        return why

    async def _look(self, plan: Plan, row: Row, session: Session, above: set[str]) -> str | None:
        (found,) = await self.assessor.decide([await self.registry.now(session)])
        session = await self.registry.now(session)  # it may have ended, or been protected, during that look
        assert isinstance(row.found, Sighting)
        bar = barred_to_all if plan.orders.others else barred  # for others' sessions the operator's word stands
        return bar(session, found.attached, plan.orders.caller, above) or changed(
            row.found, sighting(found), plan.orders
        )

    async def _end(self, plan: Plan, row: Row, session: Session) -> dict[str, Any]:
        orders = plan.orders
        told = await self.ender.end(
            session, orders.caller, plan.reason(row), StopSteps(ask=True, grace=orders.grace), key=plan.key
        )
        intent = intent_of((await self.registry.now(session)).state)
        if not plan.is_behind(intent):
            why = f"it was ended by {intent.by} meanwhile" if intent else "it ended by itself meanwhile"
            return Outcome.SKIPPED.told(why)
        certificate = told["certificate"]
        if told["state"] == "ended":
            return Outcome.ENDED.told(told["reason"], certificate=certificate)
        return Outcome.SURVIVED.told("something of it is still alive; it is tried on", certificate=certificate)

    # -- the store

    def _note(self, db: sqlite3.Connection, plan: Plan, action: str, **detail: Any) -> None:
        events.append(db, self.registry.clock.now(), None, plan.orders.caller.name, action, plan=plan.id, **detail)

    async def _persist(self, change: Callable[[sqlite3.Connection], None]) -> None:
        await persist(lambda: self.registry.store.write(change, must=True), "an outcome of a cleanup")


def sighting(found: Assessment) -> Sighting:
    return Sighting(
        name=found.session.name,
        verdict=found.verdict,
        evidence=found.evidence,
        processes=len(found.measure.processes),
        memory=found.measure.memory,
        quiet_for=round(found.quiet_for, 3),
        active=found.active,
        attached=found.attached,
        output=found.reading.offset if found.reading else 0,
        input=found.reading.last_input if found.reading else 0.0,
    )


def check_rows(plan: Plan, named: Collection[str]) -> None:
    known = {row.session for row in plan.rows}
    for missing in (one for one in named if one not in known):
        raise InputError(
            Code.BAD_INPUT,
            f"{plan.id} has no row {missing[:60]!a} that could be left out",
            Hint("name a row by its id, as the plan shows it: ", Use("cleanup", json=True)),
        )


def _missing(identifier: str, epoch: Epoch) -> MissingError:
    hint = Hint(Use("cleanup"), " makes one and says its id; plans are kept for a week")
    if epoch.number:
        when = timestamp(epoch.at)
        hint = Hint(
            "make a new one with ",
            Use("cleanup"),
            f": the store was lost at {when}, and plans of shortly before are gone",
        )
    return MissingError(Code.NOT_FOUND, f"there is no plan {identifier[:60]!a}", hint)


def _applied(plan: Plan) -> ConflictError:
    state = "is being applied" if plan.state is PlanState.APPLYING else "was applied"
    return ConflictError(
        Code.PLAN_APPLIED,
        f"{plan.id} {state} already, and a plan is applied once",
        Hint("make a new one with ", Use("cleanup")),
    )
