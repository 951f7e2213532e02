"""The composition root: settings → store, holders, lifecycle, operations. The one place that knows all of them."""

from __future__ import annotations

import asyncio
import logging

from lamplighter.clock import Clock, RealClock
from lamplighter.domain.counting import counted
from lamplighter.domain.permission import DAEMON, Act, Caller, admit, check, check_naming, check_resuming, may, may_ask
from lamplighter.domain.plan import Plan
from lamplighter.domain.session import Driver, Session
from lamplighter.errors import Code, ForbiddenError, UnavailableError
from lamplighter.lifecycle.acp.talks import Talks
from lamplighter.lifecycle.approvals import Approvals
from lamplighter.lifecycle.archive import Archive
from lamplighter.lifecycle.callers import Callers
from lamplighter.lifecycle.choosing import Choosing
from lamplighter.lifecycle.cleanup import Cleanup
from lamplighter.lifecycle.clients import Clients
from lamplighter.lifecycle.continuity.booting import Booting
from lamplighter.lifecycle.continuity.farewell import Farewell
from lamplighter.lifecycle.continuity.guests import Guests
from lamplighter.lifecycle.continuity.memory import Memory
from lamplighter.lifecycle.continuity.packing import Packing
from lamplighter.lifecycle.continuity.resuming import Resuming
from lamplighter.lifecycle.continuity.succession import Succession
from lamplighter.lifecycle.continuity.transfer import Transfer
from lamplighter.lifecycle.dialogue.captures import Captures
from lamplighter.lifecycle.dialogue.conversations import Conversations
from lamplighter.lifecycle.dialogue.following import Following
from lamplighter.lifecycle.dialogue.hearing import Hearing
from lamplighter.lifecycle.dialogue.recounting import Recounting
from lamplighter.lifecycle.dialogue.replies import Replies
from lamplighter.lifecycle.dialogue.usage import Usage
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.foreign.adoption import Adoption
from lamplighter.lifecycle.foreign.outsiders import Outsiders
from lamplighter.lifecycle.foreign.recording import Recording
from lamplighter.lifecycle.foreign.registration import Registration
from lamplighter.lifecycle.foreign.traced import Traced
from lamplighter.lifecycle.host import Host
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.lifecycle.kiro import Kiro
from lamplighter.lifecycle.launch.ordering import Ordering
from lamplighter.lifecycle.logical import Logical
from lamplighter.lifecycle.logins import Logins
from lamplighter.lifecycle.recovery.custody import Custody
from lamplighter.lifecycle.recovery.enrolment import Enrolment
from lamplighter.lifecycle.scan.leaks import Leaks
from lamplighter.lifecycle.sight.foreground import ForegroundLimits
from lamplighter.lifecycle.sight.gauge import Gauge
from lamplighter.lifecycle.sight.judgement import Judgement
from lamplighter.lifecycle.sight.patrol import Patrol
from lamplighter.lifecycle.talk.history import History
from lamplighter.lifecycle.talk.leaving import Leaving
from lamplighter.lifecycle.talk.reading import Reading
from lamplighter.lifecycle.talk.speech import Speech
from lamplighter.lifecycle.talk.terminals import Terminals
from lamplighter.lifecycle.talk.waiting import Waiting
from lamplighter.lifecycle.tasks import Tasks
from lamplighter.lifecycle.tmux.multiplexers import Multiplexers
from lamplighter.lifecycle.tmux.tmux_names import TmuxNames
from lamplighter.lifecycle.tokens import Tokens
from lamplighter.lifecycle.upkeep import Upkeep
from lamplighter.lifecycle.watch import Watch
from lamplighter.operations.call import Call
from lamplighter.operations.execution import Execution
from lamplighter.operations.journal import Journal
from lamplighter.operations.portrait import Portrait
from lamplighter.settings import Settings
from lamplighter.store.database import Database

log = logging.getLogger(__name__)
_DAY = 86400.0


class App:
    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock = clock or RealClock()
        self.tasks = Tasks()
        self.store = Database(settings.home.database)
        self.fleet = Fleet(settings, self.store, self.clock)
        self.custody = Custody(self.fleet, self.tasks)
        self.keeping = Keeping(settings.home)
        self.conversations = Conversations(self.fleet)
        self.reading = Reading(self.fleet)
        self.farewell = Farewell(self.fleet, self.reading)
        self.handing = self.farewell.handing
        self.watch = Watch(self.fleet, self.keeping, self.tasks, self.farewell)
        self.terminals = Terminals(self.fleet, self.reading, self.tasks, self.watch)
        self.launcher = self.watch.launcher
        self.undertaker = self.watch.undertaker
        self.projects = self.launcher.projects
        self.packing = Packing(self.fleet, self.projects)
        self.memory = Memory(self.fleet)
        self.memory.forget_copies = self.custody.forget
        self.transfer = Transfer(self.fleet)
        self.succession = Succession(self.fleet, self.packing)
        self.ordering = Ordering(self.fleet, self.succession)
        self.gauge = Gauge(self.fleet)
        self.multiplexers = Multiplexers(self.fleet)
        self.traced = Traced(self.fleet, self.keeping, self.tasks, self.watch, self.multiplexers)
        self.gauge.before_look = self.traced.refresh
        self.gauge.after_look = self.traced.remember
        self.registration = Registration(self.fleet, Recording(self.fleet, self.traced), self.conversations)
        self.adoption = Adoption(self.fleet, self.multiplexers, self.registration, Outsiders(self.fleet, self.keeping))
        self.tmux_names = TmuxNames(self.fleet, self.multiplexers)
        self.speech = Speech(self.fleet, self.reading, self.watch.panes)
        self.callers = Callers(self.fleet, self.keeping, self.registration)
        self.talks = Talks(self.fleet, self.reading, self.tasks, self.conversations)
        self.undertaker.leaving = Leaving(self.fleet, self.speech.screens)
        self.approvals = Approvals(self.fleet)
        self.archive = Archive(self.fleet)
        self.history = History(self.fleet)
        self.upkeep = Upkeep(self.fleet, self.keeping)
        self.host = Host(self.fleet, self.keeping, self.undertaker, self.upkeep, self.speech.screens)
        self.host.losses = self.custody.losses
        self.store.on_damaged = self._give_way
        self.enrolment = Enrolment(self.fleet, self.keeping)
        self.judgement = Judgement(self.fleet, self.gauge, self.reading, self.speech.screens)
        self.following = Following(self.fleet, self.gauge, self.conversations)
        self.recounting = Recounting(self.fleet, self.following)
        self.usage = Usage(self.fleet, self.recounting)
        self.replies = Replies(self.fleet, self.reading, self.judgement, self.recounting)
        self.farewell.following = self.following
        self.waiting = Waiting(self.fleet, self.reading, self.judgement, self.replies)
        self._connect_talks()
        self.choosing = Choosing(self.fleet, self.judgement)
        self.leaks = Leaks(self.fleet, self.keeping, self.traced)
        self.adoption.find_group = self.leaks.stranger
        self.cleanup = Cleanup(self.fleet, self.judgement, self.choosing, self.undertaker, self.tasks, self.leaks)
        self.logical = Logical(self.fleet, self.launcher, self.undertaker)
        self.guests = Guests(self.fleet, self.logical)
        self.captures = Captures(self.fleet)
        self.hearing = Hearing(self.fleet, self.conversations, self.captures, self.packing)
        self.booting = Booting(self.fleet, self.packing)
        self.clients = Clients(self.fleet)
        self.resuming = Resuming(self.fleet, self.logical, self.packing)
        self.patrol = Patrol(self.fleet, self.judgement, self.undertaker, self.logical, self.tasks)
        self.patrol.listeners.append(self.usage.round)
        self.foreground = ForegroundLimits(self.fleet, self.patrol)
        self.kiro = Kiro(self.fleet, self.undertaker, self.tasks)
        self.portrait = Portrait(self.fleet, self.judgement, self.choosing, self.multiplexers, self.usage)
        self.portrait.host = self.host
        self.journal = Journal(self.fleet, self.judgement)
        self.tokens = Tokens(self.fleet, self.tasks)
        self.logins = Logins(self.fleet)
        self.execution = Execution(self)

    def _connect_talks(self) -> None:
        """Sessions that speak ACP: heard, spoken to, judged, waited for and ended by what is said there."""
        self.watch.on_line = self.talks.watch
        self.speech.talks = self.waiting.talks = self.talks
        self.judgement.talks = self.talks.standing
        self.replies.sources[Driver.ACP] = self.talks.reply
        self.approvals.on_decided = self.talks.decided
        self.talks.retire = self._retire
        self.undertaker.close_talk, self.undertaker.end_talk = self.talks.close, self.talks.end

    async def _retire(self, session: Session) -> None:
        grace, key = self.settings.grace, f"{session.key}/done"
        await self.undertaker.end(session, DAEMON, "its task is done", grace=grace, ask=False, key=key)

    async def open(self) -> None:
        """Everything that was alive is found again before anybody is heard."""
        self.settings.home.make()
        await self.store.open()
        await self.memory.resume()
        await self.fleet.load()
        await self.tokens.load()
        await self.logins.load()
        await self.keeping.line()
        self.undertaker.cgroup_base = self.keeping.cgroup
        await self.patrol.restore()
        await self.enrolment.run()
        await self.watch.reconcile()
        await self.custody.begin()
        await self.cleanup.resume()
        await self.kiro.resume()
        self.tasks.begin(self._keep_house(), "housekeeping")
        self.tasks.begin(self.patrol.walk(), "patrol")
        self.tasks.begin(self.foreground.walk(), "limits in the foreground")

    def _give_way(self, why: str) -> None:
        """To a daemon that restores the store: the keeper starts it as soon as this one is gone."""
        log.critical("the daemon starts again: %s", why)
        self.host.going.set()

    async def close(self) -> None:
        self.watch.closing = True
        self.custody.close()
        await self.tasks.cancel()
        self.keeping.close()
        for lamp in list(self.fleet.lamps.values()):
            if lamp.line is not None:
                lamp.line.close()
        await self.store.close()

    async def _keep_house(self) -> None:
        """Once a day, for as long as the daemon runs: logs and keys that are past their time."""
        while True:
            try:
                await self.archive.prune(apply=True, by=DAEMON)
                await self.execution.forget_old_keys()
                await self.cleanup.forget_old_plans()
                await self.approvals.forget_old()
                await self.tokens.forget_old()
                await self.logins.forget_old()
                await self.resuming.forget_old()
                await self.talks.forget_old()
                await self.kiro.forget_old()
            except UnavailableError as error:
                log.error("housekeeping has to wait a day: %s", error)
            await asyncio.sleep(_DAY)

    async def find(self, word: str) -> Session:
        return await self.fleet.find(word)

    async def permitted(self, call: Call, act: Act, word: str) -> Session:
        """The session, when the caller may, or the operator granted this call; else why not, and an event of the attempt."""
        session = await self.fleet.find(word)
        await self._settle(call, act, session, await self._attached(session))
        return session

    async def resumable(self, call: Call, session: Session) -> None:
        """Nothing, when the caller may go on from a session that somebody left who is gone, or the operator granted this call.
        Whose it is then may end it, so it can be asked for where that can."""
        try:
            check_resuming(call.caller, session)
        except ForbiddenError as refusal:
            if not (call.approvable and may_ask(call.caller, Act.END, session, session.line)):
                await self._note_refused(call.caller, Act.END, session)
                raise
            wish = call.wish_for(session, refusal, of_ended=True)
            call.wish = await self.approvals.settle(wish, refusal)

    async def permitted_plan(self, call: Call, plan: Plan) -> None:
        """Nothing, when its rows are the caller's to end, or the operator granted just this plan; else as `permitted`."""
        if not plan.orders.others:
            return
        refusal = ForbiddenError(
            Code.FORBIDDEN,
            f"{call.caller.name} may not end {counted(len(plan.rows), 'session')} of others by itself ({plan.id})",
            "ask the operator to do this from a shell outside any session",
            act=Act.END.value,
        )
        call.wish = await self.approvals.settle(call.wish_for_plan(plan, refusal), refusal)

    async def permitted_stranger(self, call: Call, act: Act, stranger: Session) -> None:
        """As `permitted`, for what was made without us and is not in the store: it is the operator's."""
        await self._settle(call, act, stranger, 0)

    async def _settle(self, call: Call, act: Act, session: Session, attached: int) -> None:
        try:
            check(call.caller, act, session, session.line, attached)
        except ForbiddenError as refusal:
            if not (call.approvable and may_ask(call.caller, act, session, session.line, attached)):
                await self._note_refused(call.caller, act, session)
                raise
            reads = act is Act.READ_OUTPUT
            wish = call.wish_for(session, refusal, reads=reads, of_ended=reads)
            call.wish = await self.approvals.settle(wish, refusal)

    async def readable(self, call: Call, session: Session) -> Session:
        """The session, when the caller may read its output, screen, recording and transcript, as `agents_read` says, or the
        operator granted this call; else as `permitted`."""
        if self.settings.reads_own:
            await self._settle(call, Act.READ_OUTPUT, session, 0)
        return session

    def reads(self, caller: Caller, session: Session) -> bool:
        """As `readable`, for what is shown without its output otherwise: nobody is asked."""
        return not self.settings.reads_own or may(caller, Act.READ_OUTPUT, session)

    async def nameable(self, caller: Caller, what: str) -> None:
        """Nothing, when the caller may have this read by naming it; else FORBIDDEN, and an event of the attempt."""
        if not self.settings.reads_own:
            return
        try:
            check_naming(caller, what)
        except ForbiddenError:
            await self._note_refused(caller, Act.READ_OUTPUT, None)
            raise

    async def admitted(self, caller: Caller, act: Act) -> None:
        """Nothing, when the caller may ask for this at all; else FORBIDDEN, and an event of the attempt."""
        try:
            admit(caller, act)
        except ForbiddenError:
            await self._note_refused(caller, act, None)
            raise

    async def allowed(self, caller: Caller, act: Act) -> None:
        """Nothing, when the caller may do this to the machine; else FORBIDDEN, and an event of the attempt."""
        try:
            check(caller, act, None, [])
        except ForbiddenError:
            await self._note_refused(caller, act, None)
            raise

    async def _attached(self, session: Session) -> int:
        """People who are at it now."""
        if not session.alive:
            return 0
        if session.place:
            await self.fleet.look(0.2)
        return self.fleet.attached(session.id)

    async def _note_refused(self, caller: Caller, act: Act, session: Session | None) -> None:
        await self.fleet.note_if_possible(session.id if session else None, caller, "refused", act=act.value)
