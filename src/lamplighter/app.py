"""The composition root: settings → store, holders, engine, operations. The one place that knows all of them."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING

from lamplighter.clock import Clock, RealClock
from lamplighter.domain.permission import DAEMON
from lamplighter.engine.adopt.adoptable import AdoptableProcesses
from lamplighter.engine.adopt.registration import Registration
from lamplighter.engine.agents_io.captures import Captures
from lamplighter.engine.agents_io.conversation_finder import ConversationFinder
from lamplighter.engine.agents_io.conversations import Conversations
from lamplighter.engine.agents_io.replies import Replies
from lamplighter.engine.agents_io.session_history import SessionHistory
from lamplighter.engine.agents_io.session_io import SessionIO
from lamplighter.engine.agents_io.transcript_reader import TranscriptReader
from lamplighter.engine.agents_io.usage import Usage
from lamplighter.engine.agents_io.wait import SessionWait
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.base import BackendContext
from lamplighter.engine.backends.tmux.multiplexers import Multiplexers
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.mcp_clients import McpClients
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.end.agent_exit import AgentExit
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.end.final_report import FinalReport
from lamplighter.engine.end.final_scan import FinalScan
from lamplighter.engine.logical.external_agents import ExternalAgents
from lamplighter.engine.logical.logical_sessions import LogicalSessions
from lamplighter.engine.memory.export import RecordExport
from lamplighter.engine.memory.packet_builder import PacketBuilder
from lamplighter.engine.memory.records import RecordKeeper
from lamplighter.engine.memory.succession import Succession
from lamplighter.engine.observe.assessor import Assessor
from lamplighter.engine.observe.look_targets import LookTargets
from lamplighter.engine.observe.process_sampler import ProcessSampler
from lamplighter.engine.observe.screens import Screens
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.engine.scan.leaks import Leaks
from lamplighter.engine.service.adoption import Adoption
from lamplighter.engine.service.agent_hooks import AgentHooks
from lamplighter.engine.service.approvals import Approvals
from lamplighter.engine.service.archive import Archive
from lamplighter.engine.service.callers import Callers
from lamplighter.engine.service.cleanup import Cleanup
from lamplighter.engine.service.doctor import Doctor
from lamplighter.engine.service.foreground_limits import ForegroundLimits
from lamplighter.engine.service.logins import Logins
from lamplighter.engine.service.patrol import Patrol
from lamplighter.engine.service.selector import Selector
from lamplighter.engine.service.store_custody import Custody
from lamplighter.engine.service.tokens import TokenService
from lamplighter.engine.service.upkeep import Upkeep
from lamplighter.engine.start.command_planner import CommandPlanner
from lamplighter.engine.supervision.backend_events import BackendEvents
from lamplighter.engine.supervision.store_rebuild import StoreRebuild
from lamplighter.engine.supervision.watch import Watch
from lamplighter.errors import UnavailableError
from lamplighter.operations.execution import Execution
from lamplighter.settings import Settings
from lamplighter.slices import Parts
from lamplighter.store.database import Database

if TYPE_CHECKING:
    from lamplighter.operations.journal import Journal
    from lamplighter.operations.views.session_views import SessionViews

log = logging.getLogger(__name__)
_DAY = 86400.0


class App:
    def __init__(self, settings: Settings, clock: Clock | None = None, lock: int | None = None) -> None:
        """`lock` is the descriptor of the daemon's own lock, where there is one."""
        self.settings = settings
        self.clock = clock or RealClock()
        self.tasks = Tasks()
        self.store = Database(settings.home.database)
        self.registry = SessionRegistry(settings, self.store, self.clock)
        self.custody = Custody(self.registry, self.tasks)
        self.keeper = KeeperClient(settings.home)
        self.reading = OutputReader(self.registry)
        self.multiplexers = Multiplexers(self.registry)
        self.backends = Backends(
            BackendContext(self.registry, self.keeper, self.tasks, self.reading, self.multiplexers)
        )
        self.screens = Screens(self.backends)
        self.conversations = Conversations(self.registry, self.backends)
        targets = LookTargets(self.registry, self.screens)
        self.sampler = ProcessSampler(self.registry, self.backends, targets.of)
        self.conversation_finder = ConversationFinder(self.registry, self.backends, self.sampler, self.conversations)
        self.final_report = FinalReport(self.registry, self.backends, self.conversation_finder)
        self.handoff_writer = self.final_report.handoff_writer
        self.ender = Ender(
            self.registry,
            self.tasks,
            self.backends,
            AgentExit(self.registry, self.backends, self.screens),
            FinalScan(self.registry, self.keeper),
            self.final_report,
        )
        self.backend_events = BackendEvents(self.backends, self.ender, self.conversations)
        self.watch = Watch(self.registry, self.keeper, self.tasks, self.backends, self.ender, self.reading)
        self.launcher = self.watch.launcher
        self.projects = self.launcher.projects
        self.packet_builder = PacketBuilder(self.registry, self.projects)
        self.memory = RecordKeeper(self.registry)
        self.transfer = RecordExport(self.registry)
        self.succession = Succession(self.registry, self.packet_builder)
        self.ordering = CommandPlanner(self.registry, self.succession)
        self.registration = Registration(self.registry, self.backends, self.conversations)
        self.leaks = Leaks(self.registry, self.keeper, self.backends)
        adoptable = AdoptableProcesses(self.registry, self.keeper)
        self.adoption = Adoption(self.registry, self.multiplexers, self.registration, adoptable, self.leaks)
        self.session_io = SessionIO(self.registry, self.reading, self.backends, self.screens)
        self.callers = Callers(self.registry, self.keeper, self.registration)
        self.approvals = Approvals(self.registry, self.backends)
        self.archive = Archive(self.registry)
        self.history = SessionHistory(self.registry, self.backends)
        self.upkeep = Upkeep(self.registry, self.keeper, lock)
        self.host = Doctor(self.registry, self.keeper, self.ender, self.upkeep, self.custody, self.screens)
        self.store_rebuild = StoreRebuild(self.registry, self.keeper)
        self.assessor = Assessor(self.registry, self.backends, self.sampler, targets, self.reading, self.screens)
        self.transcript_reader = TranscriptReader(self.registry, self.conversation_finder)
        self.usage = Usage(self.registry, self.transcript_reader)
        self.replies = Replies(self.registry, self.backends, self.reading, self.assessor, self.transcript_reader)
        self.waiting = SessionWait(self.registry, self.backends, self.assessor, self.replies)
        self.selector = Selector(self.registry, self.assessor)
        self.cleanup = Cleanup(self.registry, self.assessor, self.selector, self.ender, self.tasks, self.leaks)
        self.logical_sessions = LogicalSessions(self.registry, self.launcher, self.ender)
        self.external_agents = ExternalAgents(self.registry, self.logical_sessions)
        self.captures = Captures(self.registry)
        self.agent_hooks = AgentHooks(self.registry, self.conversations, self.captures, self.packet_builder)
        self.clients = McpClients(self.registry)
        self.patrol = Patrol(self.registry, self.assessor, self.ender, self.logical_sessions, self.usage, self.tasks)
        self.foreground = ForegroundLimits(self.registry, self.patrol)
        self.tokens = TokenService(self.registry, self.tasks)
        self.logins = Logins(self.registry)
        self.execution = Execution(self)
        self.parts = Parts(self)

    # What shows sessions and events is made when somebody is shown one: its models are no part of a start.

    @cached_property
    def session_views(self) -> SessionViews:
        from lamplighter.operations.views.session_views import SessionViews

        return SessionViews(self.registry, self.assessor, self.selector, self.multiplexers, self.usage, self.host)

    @cached_property
    def journal(self) -> Journal:
        from lamplighter.operations.journal import Journal

        return Journal(self.registry, self.assessor)

    async def open(self) -> None:
        """Everything that was alive is found again before anybody is heard."""
        self.settings.home.make()
        await self.store.open()
        await self.memory.resume()
        await self.registry.load()
        await self.tokens.load()
        await self.logins.load()
        await self.keeper.line()
        await self.patrol.restore()
        await self.store_rebuild.run()
        await self.watch.reconcile()
        await self.custody.begin()
        await self.cleanup.resume()
        await self.parts.resume()
        self.tasks.begin(self._keep_house(), "housekeeping")
        self.tasks.begin(self.patrol.walk(), "patrol")
        self.tasks.begin(self.foreground.walk(), "limits in the foreground")

    async def close(self) -> None:
        self.watch.close()
        self.custody.close()
        await self.tasks.cancel()
        self.keeper.close()
        for live in list(self.registry.live_sessions.values()):
            if live.line is not None:
                live.line.close()
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
                await self.backends.forget_old()
                await self.parts.forget_old()
            except UnavailableError as error:
                log.error("housekeeping has to wait a day: %s", error)
            await asyncio.sleep(_DAY)
