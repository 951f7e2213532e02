"""Who may: what a call does to a session or to the machine, asked before it is done. Refusals leave an event.

Knows calls and requests for approval; the rules are `domain/permission.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamplighter.domain.permission import Act, Caller, admit, check, check_naming, check_resuming, may, may_ask
from lamplighter.domain.plan import Plan
from lamplighter.domain.session import Session
from lamplighter.domain.text.plural import counted
from lamplighter.errors import Code, ForbiddenError
from lamplighter.operations.call import Call

if TYPE_CHECKING:
    from lamplighter.app import App


async def permitted(call: Call, act: Act, word: str) -> Session:
    """The session, when the caller may, or the operator granted this call; else why not, and an event of the attempt."""
    session = await call.app.registry.find(word)
    await _settle(call, act, session, await _attached(call.app, session))
    return session


async def permitted_stranger(call: Call, act: Act, stranger: Session) -> None:
    """As `permitted`, for what was made without us and is not in the store: it is the operator's."""
    await _settle(call, act, stranger, 0)


async def permitted_plan(call: Call, plan: Plan) -> None:
    """Nothing, when its rows are the caller's to end, or the operator granted just this plan; else as `permitted`."""
    if not plan.orders.others:
        return
    refusal = ForbiddenError(
        Code.FORBIDDEN,
        f"{call.caller.name} may not end {counted(len(plan.rows), 'session')} of others by itself ({plan.id})",
        "ask the operator to do this from a shell outside any session",
        act=Act.END.value,
    )
    call.wish = await call.app.approvals.settle(call.wish_for_plan(plan, refusal), refusal)


async def resumable(call: Call, session: Session) -> None:
    """Nothing, when the caller may go on from a session that somebody left who is gone, or the operator granted this call.
    Whose it is then may end it, so it can be asked for where that can."""
    try:
        check_resuming(call.caller, session)
    except ForbiddenError as refusal:
        if not (call.approvable and may_ask(call.caller, Act.END, session, session.line)):
            await _note_refused(call.app, call.caller, Act.END, session)
            raise
        wish = call.wish_for(session, refusal, of_ended=True)
        call.wish = await call.app.approvals.settle(wish, refusal)


async def readable(call: Call, session: Session) -> Session:
    """The session, when the caller may read its output, screen, recording and transcript, as `agents_read` says, or the operator
    granted this call; else as `permitted`."""
    if call.app.settings.reads_own:
        await _settle(call, Act.READ_OUTPUT, session, 0)
    return session


def reads(app: App, caller: Caller, session: Session) -> bool:
    """As `readable`, for what is shown without its output otherwise: nobody is asked."""
    return not app.settings.reads_own or may(caller, Act.READ_OUTPUT, session)


async def nameable(call: Call, what: str) -> None:
    """Nothing, when the caller may have this read by naming it; else FORBIDDEN, and an event of the attempt."""
    if not call.app.settings.reads_own:
        return
    try:
        check_naming(call.caller, what)
    except ForbiddenError:
        await _note_refused(call.app, call.caller, Act.READ_OUTPUT, None)
        raise


async def admitted(app: App, caller: Caller, act: Act) -> None:
    """Nothing, when the caller may ask for this at all; else FORBIDDEN, and an event of the attempt."""
    try:
        admit(caller, act)
    except ForbiddenError:
        await _note_refused(app, caller, act, None)
        raise


async def allowed(call: Call, act: Act) -> None:
    """Nothing, when the caller may do this to the machine; else FORBIDDEN, and an event of the attempt."""
    try:
        check(call.caller, act, None, [])
    except ForbiddenError:
        await _note_refused(call.app, call.caller, act, None)
        raise


async def _settle(call: Call, act: Act, session: Session, attached: int) -> None:
    try:
        check(call.caller, act, session, session.line, attached)
    except ForbiddenError as refusal:
        if not (call.approvable and may_ask(call.caller, act, session, session.line, attached)):
            await _note_refused(call.app, call.caller, act, session)
            raise
        of_output = act is Act.READ_OUTPUT
        wish = call.wish_for(session, refusal, reads=of_output, of_ended=of_output)
        call.wish = await call.app.approvals.settle(wish, refusal)


async def _attached(app: App, session: Session) -> int:
    """People who are at it now."""
    if not session.alive:
        return 0
    if session.place:
        await app.registry.look(0.2)
    return app.registry.attached(session.id)


async def _note_refused(app: App, caller: Caller, act: Act, session: Session | None) -> None:
    await app.registry.note_if_possible(session.id if session else None, caller, "refused", act=act.value)
