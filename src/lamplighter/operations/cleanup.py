"""Cleaning up: a plan of what could go, and its apply."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.duration import parse_duration
from lamplighter.domain.leak import Certainty, Leak
from lamplighter.domain.permission import Act
from lamplighter.domain.plan import DEFAULT_SELECTION, Plan, PlanRequest, PlanState, Row
from lamplighter.domain.selection import parse_selection
from lamplighter.engine.service.cleanup import Omission, check_rows
from lamplighter.errors import Code, Hint, InputError, Option, Use
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN
from lamplighter.operations.operation import AS_SET, Nothing, Request, Result, operation
from lamplighter.operations.permission import allowed, permitted_plan
from lamplighter.operations.views.common import CertificateView, moment


class CleanUpSessions(Request):
    selection: str = Field(
        default=DEFAULT_SELECTION,
        description="sessions to plan for: idle, kind:cron, project:X, cron:*; a comma means and, a plus means or",
    )
    older_than: str | None = Field(default=None, description="only those quiet for at least this long: 30m, 8h, 2d")
    force: bool = Field(default=False, description="also active sessions: working, waiting or unknown")
    leaks: bool = Field(
        default=False,
        description="leaks instead of sessions: all that scan calls certain, or those whose ids are given",
    )
    grace: str | None = Field(default=None, description=f"time between TERM and KILL ({AS_SET})")
    reason: str = Field(default="", max_length=2000, description="reason, stored with each session")
    apply: str | None = Field(
        default=None, max_length=100, description="carry out this plan; each row is checked again first"
    )
    others: bool = Field(
        default=False,
        description="sessions of others instead; apply needs an approval",
    )
    approval: str | None = Field(
        default=None,
        max_length=100,
        description="with --apply: request id from APPROVAL_NEEDED, once the operator has granted it",
    )
    without: list[str] = Field(
        default_factory=list,
        max_length=10_000,
        description="with --apply: row id to leave alone; repeatable",
    )
    known_as: dict[str, str] | None = Field(
        default=None,
        description="what the caller calls sessions, by id: patterns mean that too",
        json_schema_extra=HIDDEN,
    )


class RowView(Result):
    """One session or one leak of a plan; with an outcome once the plan is applied."""

    id: str
    name: str
    verdict: str
    evidence: list[str] = Field(description="what the verdict rests on")
    processes: int
    memory: int = Field(description="resident bytes of the whole tree")
    quiet_for: float = Field(description="seconds without a sign of life")
    outcome: Literal["ended", "skipped", "survived", "failed"] | None = None
    why: str | None = Field(
        default=None, description="the reason that is kept with it, or why it was skipped or failed"
    )
    certificate: CertificateView | None = None
    error: dict[str, Any] | None = None


class LeftOut(Result):
    id: str
    name: str
    verdict: str
    why: str
    foreign: bool = Field(default=False, description="it would be in the plan if it were the caller's")


class Sums(Result):
    """Before an apply what it would free, after it what it did."""

    sessions: int = Field(description="rows of the plan")
    processes: int = Field(description="that end; of an applied plan, of those that ended")
    memory: int = Field(description="resident bytes that are freed; of an applied plan, of those that ended")
    ended: int = 0
    skipped: int = 0
    survived: int = 0
    failed: int = 0


class CleanUp(Result):
    """A plan, or what came of it. Both have the same shape: only `applied`, the outcomes and the sums differ."""

    plan: str = Field(description="its id: pass it as apply")
    applied: bool
    leaks: bool = Field(default=False, description="whether its rows are leaks: verdict says how sure that is")
    selection: str
    expires_at: str | None
    rows: list[RowView]
    left_out: list[LeftOut] = Field(description="of a plan: what matches but is not in it, each with why")
    sums: Sums


class CleanupStep(Result):
    """One row that is done, while a plan is applied."""

    plan: str
    done: int
    total: int
    row: RowView


@operation(command="cleanup", group="sessions", positional=("selection",), changes=True, act=Act.END)
async def cleanup_sessions(call: Call, request: CleanUpSessions) -> CleanUp:
    """Plan a cleanup: which sessions could end, why, and what that frees. Nothing ends until you apply the plan.

    By default the plan has sessions that are orphaned, finished, or have left processes behind. Never in a plan: protected,
    main and system sessions, the caller's own session and those above it, sessions with people attached, sessions that the
    caller may not end, and, without --force, active ones. --apply checks each row again and skips it if it has changed; the
    others are ended politely, in parallel, with one certificate each. A plan is valid for ten minutes, for its caller only,
    and is applied once. --others plans for sessions that are not the caller's; one approval by the operator covers exactly
    the rows of that plan. --leaks plans for processes outside any session whose agent is gone; operator only.
    """
    grace = None if request.grace is None else parse_duration(request.grace, "grace")
    if request.leaks:
        await allowed(call, Act.END)
    if request.apply is not None:
        return await _apply(call, request, request.apply, grace)
    if request.without:
        raise InputError(
            Code.BAD_INPUT,
            "without leaves rows of a plan alone, and there is no plan yet",
            Hint(
                "make one with ", Use("cleanup"), ", then name its rows: ", Use("cleanup", apply="PLAN", without="ID")
            ),
        )
    if request.leaks:
        return await _plan_leaks(call, request, grace)
    selection = parse_selection(request.selection.strip() or DEFAULT_SELECTION)
    orders = PlanRequest(
        caller=call.caller,
        selection=str(selection),
        older_than=None if request.older_than is None else parse_duration(request.older_than, "older_than"),
        force=request.force,
        grace=call.app.settings.grace if grace is None else grace,
        reason=request.reason,
        others=request.others,
    )
    granted, asked = await _standing(call, orders) if request.others else ([], [])
    if granted:
        return _view(granted[0], granted[0].rows, applied=False)
    plan, left_out = await call.app.cleanup.plan(selection, orders, request.known_as, asked)
    return _view(plan, plan.rows, applied=False, left_out=left_out)


async def _standing(call: Call, orders: PlanRequest) -> tuple[list[Plan], list[Plan]]:
    """The caller's plans of this very question that the operator has granted, and those that wait for the word."""
    found: dict[str, list[Plan]] = {"granted": [], "asked": []}
    for approval in await call.app.approvals.open():
        if approval.caller != call.caller.name or approval.target is not None:
            continue
        plan = await call.app.cleanup.find(approval.session, call.caller)
        if plan.state is PlanState.MADE and plan.orders == orders and not plan.expired(call.app.clock.now()):
            found[approval.state.value].append(plan)
    return found["granted"], found["asked"]


async def _plan_leaks(call: Call, request: CleanUpSessions, grace: float | None) -> CleanUp:
    if request.force:
        raise InputError(
            Code.BAD_INPUT,
            "force says nothing about leaks: they are certain or likely",
            Hint("name a likely one by its id to end it: ", Use("cleanup", leaks="ID")),
        )
    chosen = "" if request.selection == DEFAULT_SELECTION else request.selection
    orders = PlanRequest(
        caller=call.caller,
        selection=chosen.strip() or "certain",
        older_than=None if request.older_than is None else parse_duration(request.older_than, "older_than"),
        grace=call.app.settings.grace if grace is None else grace,
        reason=request.reason,
        leaks=True,
    )
    wanted = [word.strip() for word in chosen.replace("+", ",").split(",") if word.strip()]
    plan, others = await call.app.cleanup.plan_leaks(orders, wanted)
    view = _view(plan, plan.rows, applied=False)
    return view.model_copy(update={"left_out": [_left(leak) for leak in others]})


def _left(leak: Leak) -> LeftOut:
    sure = leak.certainty is Certainty.CERTAIN
    why = (
        "it is younger than that, or was not named"
        if sure
        else f"it is only likely: {leak.why[-1].removeprefix('but ')}; name its id to end it"
    )
    return LeftOut(id=leak.id, name=leak.name, verdict=leak.certainty.value, why=why)


async def _apply(call: Call, request: CleanUpSessions, plan: str, grace: float | None) -> CleanUp:
    chosen = request.selection != DEFAULT_SELECTION or request.older_than is not None or request.force or request.others
    if chosen:
        raise InputError(
            Code.BAD_INPUT,
            "apply goes with a plan as it is: selection, older-than and force belong to making one",
            Hint("apply it with ", Use("cleanup", apply=plan[:40]), ", or make another without ", Option("apply")),
        )
    found = await call.app.cleanup.find(plan, call.caller)
    if found.state is PlanState.MADE:
        call.app.cleanup.check_age(found)
        check_rows(found, request.without)
        await permitted_plan(call, found)
    run = await call.app.cleanup.apply(plan, call.caller, call.key, grace, request.reason, tuple(request.without))
    done = 0
    async for row in run.follow():
        done += 1
        await _tell(call, CleanupStep(plan=run.plan.id, done=done, total=len(run.rows), row=_row(row)))
    return _view(run.plan, list(run.rows.values()), applied=True)


async def _tell(call: Call, step: CleanupStep) -> None:
    """As progress, to whoever still listens: a client that is gone, or went while it was told, must stop nothing."""
    if call.gone.is_set():
        return
    telling = asyncio.ensure_future(call.emit(step))
    agent_exit = asyncio.ensure_future(call.gone.wait())
    try:
        await asyncio.wait((telling, agent_exit), return_when=asyncio.FIRST_COMPLETED)
    finally:
        agent_exit.cancel()
        telling.cancel()
        with suppress(OSError, ValueError, asyncio.CancelledError):
            await telling


def _view(plan: Plan, rows: list[Row], *, applied: bool, left_out: list[Omission] | None = None) -> CleanUp:
    views = [_row(row) for row in rows]
    freed = [view for view in views if view.outcome == "ended"] if applied else views
    outcomes = [view.outcome for view in views]
    return CleanUp(
        plan=plan.id,
        applied=applied,
        leaks=plan.orders.leaks,
        selection=plan.orders.selection,
        expires_at=moment(plan.expires_at),
        rows=views,
        left_out=[
            LeftOut(id=found.session.id, name=found.session.name, verdict=found.verdict.value, why=why, foreign=foreign)
            for found, why, foreign in left_out or ()
        ],
        sums=Sums(
            sessions=len(views),
            processes=sum(view.processes for view in freed),
            memory=sum(view.memory for view in freed),
            ended=outcomes.count("ended"),
            skipped=outcomes.count("skipped"),
            survived=outcomes.count("survived"),
            failed=outcomes.count("failed"),
        ),
    )


def _row(row: Row) -> RowView:
    found, outcome = row.found, row.outcome or {}
    if not isinstance(found, Leak):
        return RowView.showing(found, id=row.session, **outcome)
    return RowView.showing(
        found,
        verdict=found.certainty,
        evidence=found.why,
        processes=len(found.processes),
        quiet_for=round(max(0.0, time.time() - found.since), 3) if found.since else 0.0,
        **{"why": None, **outcome},
    )


class PlanName(Result):
    id: str
    sessions: int = Field(description="how many it would end")
    selection: str


class Plans(Result):
    plans: list[PlanName]


@operation(command=None, group="sessions")
async def list_plans(call: Call, _: Nothing) -> Plans:
    """Your plans that can still be applied, the newest first."""
    found = await call.app.cleanup.open_plans(call.caller)
    return Plans(plans=[PlanName(id=name, sessions=count, selection=chosen) for name, count, chosen in found])
