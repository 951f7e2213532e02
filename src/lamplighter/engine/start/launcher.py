"""Launching: the checks, the intent, the spawn, and what is left when it fails: nothing.

Knows the order in which a session comes to be, and whom to ask for each step; knows nothing of how it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Process, Session
from lamplighter.domain.states import Starting, intent_of
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.holder_client import BrokenError, HolderClient, RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.session_card import keep_card
from lamplighter.engine.core.tasks import persist
from lamplighter.engine.memory.projects import Projects
from lamplighter.engine.start.admission import Admission
from lamplighter.engine.start.birth_check import is_born, was_born
from lamplighter.engine.start.checks import check_command, check_folder, find_program
from lamplighter.engine.start.shim_setup import holding_spec
from lamplighter.engine.start.start_intent import Intents
from lamplighter.engine.start.start_request import Launch
from lamplighter.errors import Code, ConflictError, Hint, InputError, LampError, UnavailableError, Use
from lamplighter.holder import proc
from lamplighter.store import sessions

_BIRTH_SECONDS = 2.0
_MOST_LOSSES = 5


class Launcher:
    """`adopt` gives a fresh line to whoever watches sessions; `find` has them find a session that was born unseen."""

    def __init__(
        self,
        registry: SessionRegistry,
        keeper: KeeperClient,
        backends: Backends,
        adopt: Callable[[str, socket.socket], HolderClient],
        find: Callable[[str], Awaitable[None]],
    ) -> None:
        self.registry = registry
        self.keeper = keeper
        self.backends = backends
        self.adopt = adopt
        self.find = find
        self.projects = Projects(registry)
        self.admission = Admission(registry)
        self.intents = Intents(registry, backends, self.admission)
        self.started: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def launch(self, launch: Launch, caller: Caller, key: str, *, repeated: bool) -> Session:
        """Started, with its execution confirmed; or an error, and nothing is left behind."""
        again = await self.registry.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return _born(await self.resume(self._now(again)))
        if launch.find_order is None:
            check_command(launch.command, launch.environment)
        self.backends.running_in(launch.driver).check_start()
        cwd = check_folder(launch.cwd)
        launch = await launch.ordered(cwd)
        program = find_program(launch.command[0], cwd, launch.environment)
        parent = await self.admission.parent_for(launch.parent, caller)
        project = await self.projects.of_start(cwd, launch.project)
        if launch.find_legacy is not None:
            launch = replace(launch, legacy=await launch.find_legacy(project.id))
        session = await self.intents.write(launch, program, cwd, project, parent, caller, key)
        return _born(await self._spawn(session, launch.rows, launch.cols))

    async def resume(self, session: Session) -> Session:
        """Go on with a start whose intent is written. Safe to repeat: a session is born at most once."""
        if not isinstance(session.state, Starting):
            return session
        if await self._was_born(session):
            # Its orders are gone as soon as it runs, and a pane of tmux has handed everything over: neither comes again.
            return await self._joined(session)
        orders = self.intents.orders(session)
        if orders is None:
            raise await self._fail(
                session,
                UnavailableError(
                    Code.OUTCOME_UNKNOWN, f"the start of {session.name} was interrupted", "start it again"
                ),
            )
        return await self._spawn(session, orders["rows"], orders["cols"])

    async def _was_born(self, session: Session) -> bool:
        return await was_born(self.registry.folder(session.id), session.id, self.registry.settings.home.state)

    def _now(self, session: Session) -> Session:
        live = self.registry.live_sessions.get(session.id)
        return live.session if live else session

    async def _spawn(self, session: Session, rows: int, cols: int) -> Session:
        try:
            outcome = await self._bear(session, rows, cols)
        except (LampError, RefusedError, OSError) as error:
            raise await self._fail(session, _translated(error)) from error
        if outcome is not None and outcome["event"] == "failed" and await self._was_born(session):
            await self.find(session.id)  # its shim was lost before it could say so, and the command runs
            outcome = None
        if outcome is None:
            return await self._joined(session)
        if outcome["event"] == "failed":
            raise await self._fail(session, _exec_error(session, outcome))
        return await self.confirm(session, outcome)

    async def _bear(self, session: Session, rows: int, cols: int) -> dict[str, Any] | None:
        """What the shim says that the keeper forks for it; None when it was born already, and the watch finds it."""
        losses = 0
        while True:
            try:
                return await self._ask_for_birth(session, rows, cols)
            except RefusedError as error:
                if error.code != "EXISTS":
                    raise
                return None
            except BrokenError:  # the keeper was lost while it was asked, and did it or did not
                losses += 1
                if await self._was_born(session):
                    await self.find(session.id)
                    return None
                if losses == _MOST_LOSSES:
                    raise

    async def _ask_for_birth(self, session: Session, rows: int, cols: int) -> dict[str, Any]:
        birth = asyncio.get_running_loop().create_future()
        self.started[session.id] = birth
        try:
            place = await self.backends.of(session).open(session)
            spec = {**holding_spec(self.registry, session), "rows": rows, "cols": cols}
            # While the keeper is at work.
            asyncio.get_running_loop().call_soon(keep_card, self.registry.folder(session.id), session)
            _, sock = await self.keeper.spawn(spec, place)
            self.adopt(session.id, sock)
            return await birth
        finally:
            self.started.pop(session.id, None)

    async def _joined(self, session: Session) -> Session:
        """It was born already, before a crash of ours: the watch has found it, or finds its end. A birth that fails only now
        is taken back by its shim, and then it can be tried again."""
        live = self.registry.live_sessions.get(session.id)
        while live is not None and isinstance(live.session.state, Starting):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(live.changed.wait(), _BIRTH_SECONDS)
                continue
            if not is_born(self.registry.folder(session.id)):
                return await self.resume(live.session)
        return self._now(session)

    async def confirm(self, session: Session, hello: dict[str, Any]) -> Session:
        """The command has been executed."""
        shim, main = Process(*hello["shim"]), Process(*hello["main"])
        # When the command itself began, by the kernel: it may have ended before we hear that it was started.
        now = max(session.created_at, min(self.registry.clock.now(), proc.start_moment(main.start)))
        place = await self.backends.of(session).born(session)

        def become(before: Session) -> Session | None:
            known = replace(before, facts=replace(before.facts, tmux=place)) if place else before
            if isinstance(before.state, Starting):
                return known.started(now, shim, main)
            # Somebody ended it before it had started; what started is still to be known.
            return replace(known, started_at=now, shim=shim, main=main) if before.main is None else None

        live = self.registry.live_sessions[session.id]
        live.guarantee = hello["guarantee"]
        self.intents.forget_orders(session)

        async def write() -> None:
            await self.registry.change(session.id, DAEMON, "started", become, pid=main.pid)

        # An error now would free the key of the call, and whoever asks again with it would start a second one.
        await persist(write, f"the start of {session.id}")
        return live.session

    async def _fail(self, session: Session, error: LampError) -> LampError:
        """Nothing is left of it, but the event."""
        await self.backends.of(session).take_back(session)
        await self.intents.take_back(session, error.code)
        return error


def _born(session: Session) -> Session:
    """Started; or how it came that it cannot be said to have."""
    if session.main is not None:
        return session
    intent = intent_of(session.state)
    if intent is not None:
        raise ConflictError(
            Code.ENDED,
            f"{session.name} ({session.id}) was ended by {intent.by} while it started",
            Hint(Use("show"), " says how"),
        )
    raise UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f"the start of {session.name} ({session.id}) was interrupted where nobody can say what came of it",
        Hint(Use("show"), " says more; start it again"),
    )


def _translated(error: Exception) -> LampError:
    if isinstance(error, LampError):
        return error
    return UnavailableError(
        Code.HOLDER_UNREACHABLE, f"the keeper could not start it: {error}", Hint(Use("doctor"), " says more")
    )


def _exec_error(session: Session, outcome: dict[str, Any]) -> InputError:
    number = int(outcome["errno"] or 0)
    reasons = {
        7: "the arguments and the environment are too long together",
        8: "it is no program that this machine can run",
    }
    reason = reasons.get(number, os.strerror(number))
    return InputError(
        Code.START_FAILED,
        f"{session.command[0][:100]!a} could not be started ({outcome['stage']}): {reason}",
        "make it executable, shorten the arguments, or give it its interpreter",
        errno=number,
        stage=outcome["stage"],
    )
