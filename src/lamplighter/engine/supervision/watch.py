"""Watching: what the shims tell, and finding each session again when its line breaks, at start, and after a loss.

Knows every way in which a session can be found; the endings themselves are `stop`'s.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lamplighter.domain.ending import How, Intent
from lamplighter.domain.facts import ProcessKey
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Process, Session
from lamplighter.domain.states import BeingEnded, Running, Starting
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.holder_client import HolderClient, RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import Tasks, until
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.engine.start.launcher import Launcher
from lamplighter.engine.start.shim_setup import holding_spec
from lamplighter.errors import LampError
from lamplighter.holder import boot, places, proc
from lamplighter.holder.files import read_json

log = logging.getLogger(__name__)
_TAKEOVER_SECONDS = 10.0
_HELP_SECONDS = 10.0
_SOCKET_SECONDS = 0.02
_LEAVING_SECONDS = 2.0
_AGAIN_SECONDS = 0.2
_UNREACHABLE_SECONDS = 10.0


class Watch:
    def __init__(
        self,
        registry: SessionRegistry,
        keeper: KeeperClient,
        tasks: Tasks,
        backends: Backends,
        ender: Ender,
        reading: OutputReader,
    ) -> None:
        self.registry = registry
        self.keeper = keeper
        self.tasks = tasks
        self.backends = backends
        self.ender = ender
        self.reading = reading
        self.launcher = Launcher(registry, keeper, backends, self.adopt, self._find)
        self._lost: dict[str, asyncio.Event] = {}
        self._finding: set[str] = set()
        self._adopters: dict[str, tuple[int, int] | None] = {}
        self._closing = False
        keeper.on_lost.append(self._shim_lost)
        keeper.on_renewed.append(self._keeper_renewed)

    # -- at start

    async def reconcile(self) -> None:
        """Every session that the store says is alive: found again, or its end recorded."""
        boot = proc.boot_id()
        for live in list(self.registry.live_sessions.values()):
            if live.session.boot != boot and not self.backends.of(live.session).survives_boot:
                await self.ender.lose(live.session, "the machine was restarted")
        await asyncio.gather(*(self._find(session) for session in list(self.registry.live_sessions)))
        await self._hold_all()

    def close(self) -> None:
        """Lines that break from now on are ours to break."""
        self._closing = True

    # -- a session's line

    def adopt(self, session: str, sock: socket.socket) -> HolderClient:
        """Listen to a shim from now on."""
        line = HolderClient(
            sock,
            f"the shim of {session}",
            lambda event: self._heard(session, event),
            lambda: self._closed(session, line),
        )
        live = self.registry.live_sessions[session]
        live.line = line
        live.notify()
        self.backends.of(live.session).connected(live)
        return line

    def _heard(self, session: str, event: dict[str, Any]) -> None:
        live = self.registry.live_sessions.get(session)
        handler = getattr(self, f"_on_{event['event']}", None)
        if live is not None and handler is not None:
            handler(live, event)

    def _on_started(self, live: LiveSession, event: dict[str, Any]) -> None:
        birth = self.launcher.started.get(live.session.id)
        if birth is not None and not birth.done():
            birth.set_result(event)

    _on_failed = _on_started

    def _on_hello(self, live: LiveSession, event: dict[str, Any]) -> None:
        self.tasks.begin(self._greeted(live, event), f"greet {live.session.id}")

    async def _greeted(self, live: LiveSession, hello: dict[str, Any]) -> None:
        """A shim that was there before this line: learn what happened meanwhile."""
        live.guarantee, live.phase = hello["guarantee"], hello["phase"]
        live.certificate = hello["certificate"]
        if isinstance(live.session.state, Starting):
            await self.launcher.confirm(live.session, hello)
        shim = Process(*hello["shim"])
        if hello["adopted"] and live.session.shim != shim:
            await self._holder_lost(live, shim, Process(*hello["main"]))
        if hello.get("unwritten"):
            await self._take_word(live, hello["unwritten"])
            return
        if hello["why"] and isinstance(live.session.state, Running):
            await self._abandoned(live, hello["why"])
        live.notify()
        if live.phase == "survivors":
            await self._survived(live, hello["certificate"])
        if isinstance(live.session.state, BeingEnded) and live.phase in ("running", "leftovers"):
            self.ender.carry_out(live.session.id)

    async def _holder_lost(self, live: LiveSession, shim: Process, main: Process) -> None:
        """Its first shim is gone. What that one was the ancestor of hangs under the keeper now, if the keeper forked it."""
        adopter = self._adopters.get(live.session.id)
        left_to = ProcessKey(*adopter) if adopter else None
        in_cgroup = live.session.id in self._with_cgroup()

        def become(session: Session) -> Session:
            facts = replace(session.facts, adopter=left_to, cgroup=in_cgroup)
            return replace(session, shim=shim, main=main, holder_lost=True, facts=facts)

        changed = await self.registry.change(live.session.id, DAEMON, "holder lost", become, held_by=shim.pid)
        if changed is not None:
            self.registry.keep_lost(changed)

    def _with_cgroup(self) -> set[str]:
        base = self.keeper.cgroup
        return set(os.listdir(base)) if base and os.path.isdir(base) else set()

    def _on_phase(self, live: LiveSession, event: dict[str, Any]) -> None:
        if event["phase"] == "survivors":
            return  # told of with the certificate, in an event of its own
        live.phase = event["phase"]
        live.notify()
        if live.phase == "leftovers":
            self.tasks.begin(self._exited(live, event["exit"]), f"exit of {live.session.id}")

    async def _exited(self, live: LiveSession, exit: dict[str, Any]) -> None:
        await self.registry.note(live.session.id, DAEMON, "exited", exit=exit, children="kept")

    def _on_survivors(self, live: LiveSession, event: dict[str, Any]) -> None:
        self.tasks.begin(self._survived(live, event["certificate"]), f"survivors of {live.session.id}")

    async def _survived(self, live: LiveSession, certificate: dict[str, Any]) -> None:
        """A shim that cannot get to the end and names nobody is helped first."""
        if not certificate["survivors"]:
            await self.ender.kill_below(live)
            if await until(live.ended, _HELP_SECONDS):
                return
        live.certificate = certificate
        live.phase = "survivors"
        live.notify()

    def _on_output(self, live: LiveSession, _: dict[str, Any]) -> None:
        live.output.set()
        live.output = asyncio.Event()

    def _on_rolled(self, live: LiveSession, _: dict[str, Any]) -> None:
        self.tasks.begin(self.reading.keep_keyframe(live.session), f"keyframe of {live.session.id}")

    def _on_query(self, live: LiveSession, event: dict[str, Any]) -> None:
        self.tasks.begin(self._answer(live, event["from"], event["offset"]), f"answer {live.session.id}")

    async def _answer(self, live: LiveSession, begin: int, end: int) -> None:
        """What its program asked of its terminal in this part of its output, when nobody is attached who has one: a program that
        asks for the cursor and hears nothing may refuse to start."""
        data = await self.reading.replies(live.session, begin, end)
        if data and live.line is not None:
            with suppress(LampError, RefusedError):  # it ended before it was answered
                await live.line.answer(data)

    def _on_people(self, live: LiveSession, _: dict[str, Any]) -> None:
        live.notify()

    def _on_abandoned(self, live: LiveSession, event: dict[str, Any]) -> None:
        self.tasks.begin(self._abandoned(live, event["why"]), f"abandon {live.session.id}")

    async def _abandoned(self, live: LiveSession, why: str) -> None:
        """A session that belonged to a client: the shim has begun to end it."""
        intent = Intent(DAEMON.name, why, How.TERMINATED, self.registry.settings.grace, self.registry.clock.now())
        await self.registry.change(live.session.id, DAEMON, "end", lambda session: session.to_end(intent), reason=why)

    def _on_unwritten(self, live: LiveSession, event: dict[str, Any]) -> None:
        self.tasks.begin(self._take_word(live, event["document"]), f"end of {live.session.id}")

    async def _take_word(self, live: LiveSession, document: dict[str, Any]) -> None:
        """It has ended, and its shim cannot write that down: what it says counts as much, and then it may go."""
        line, live.line = live.line, None  # or the burial would close it before the shim is told
        if isinstance(live.session.state, Starting):
            await self._confirm_from_file(live)
        await self.ender.bury(live.session, document)
        if line is not None:
            line.tell("recorded")

    def _on_restricted(self, live: LiveSession, _: dict[str, Any]) -> None:
        """A shim that does not know us for the daemon (yet): our lock was taken away, and is made again."""
        self.tasks.begin(self._try_again(live), f"find {live.session.id}")

    async def _try_again(self, live: LiveSession) -> None:
        await asyncio.sleep(_AGAIN_SECONDS)
        if live.line is not None:
            live.line.close()

    def _on_ended(self, live: LiveSession, _: dict[str, Any]) -> None:
        self.tasks.begin(self._find(live.session.id), f"end of {live.session.id}")

    def _closed(self, session: str, line: HolderClient) -> None:
        live = self.registry.live_sessions.get(session)
        birth = self.launcher.started.get(session)
        if birth is not None and not birth.done():
            birth.set_result({"event": "failed", "stage": "holder", "errno": 5})
        if live is None or live.line is not line:
            return
        live.line = None
        if not self._closing and not isinstance(live.session.state, Starting):
            self.tasks.begin(self._find(session), f"find {session}")

    # -- finding

    async def _find(self, session: str) -> None:
        """By its exit file, its socket, the keeper, or its shim's process, in this order; else it is lost."""
        if session in self._finding:
            return
        self._finding.add(session)
        try:
            while (live := self.registry.live_sessions.get(session)) is not None and not await self._found(live):
                pass
        finally:
            self._finding.discard(session)

    async def _found(self, live: LiveSession) -> bool:
        session, folder = live.session, self.registry.folder(live.session.id)
        if self.backends.of(session).recover(live):
            if isinstance(session.state, BeingEnded):
                self.ender.carry_out(session.id)
            return True
        document = read_json(f"{folder}/exit.json")
        if document is not None:
            if isinstance(session.state, Starting):
                await self._confirm_from_file(live)
            await self.ender.bury(live.session, document)
            return True
        if live.line is not None and live.line.alive:
            return True
        sock = self._connect(session.id)
        if sock is not None:
            live.unreachable = False
            self.adopt(session.id, sock)
            return True
        birth = read_json(f"{folder}/birth.json")
        if birth is None and isinstance(session.state, Starting):
            await self._resume(session)
            return True
        return await self._ask_keeper(live, birth)

    def _connect(self, session: str) -> socket.socket | None:
        home = self.registry.settings.home
        found = (boot.connect(f"{run}/s/{session}.sock") for run in places.runs(home.run, home.state))
        return next((sock for sock in found if sock is not None), None)

    async def _confirm_from_file(self, live: LiveSession) -> None:
        birth = read_json(f"{self.registry.folder(live.session.id)}/birth.json") or {}
        hello = {"shim": birth.get("shim") or [0, 0], "main": birth.get("main") or [0, 0], "guarantee": "tree"}
        await self.launcher.confirm(live.session, hello)

    async def _resume(self, session: Session) -> None:
        """The intent to start is written, and nothing was born yet."""
        try:
            await self.launcher.resume(session)
        except LampError as error:
            log.warning("%s was not started: %s", session.id, error)

    async def _ask_keeper(self, live: LiveSession, birth: dict[str, Any] | None) -> bool:
        """Held by the keeper: a new shim is there or about to be. Not held: it is lost."""
        event = self._lost.setdefault(live.session.id, asyncio.Event())
        event.clear()
        try:
            held = (await self.keeper.held()).get(live.session.id)
        except (LampError, RefusedError) as error:
            log.error("the keeper cannot be asked for %s: %s", live.session.id, error)
            held = None
        known = live.session.shim
        shim = (birth or {}).get("shim") or ([known.pid, known.start] if known else None)
        if held is not None and (held["shim"] != shim or held["given_up"]):
            return await self._give_up_or_retry(live, held)
        if shim and proc.is_alive(*shim):
            return await self._wait_for_socket(live, (shim[0], shim[1]), held is not None)
        if held is not None:
            try:
                await asyncio.wait_for(event.wait(), _TAKEOVER_SECONDS)
            except TimeoutError:
                return await self._lose(live)
            return False
        return await self._lose(live)

    async def _wait_for_socket(self, live: LiveSession, shim: tuple[int, int], held: bool) -> bool:
        """Its shim lives and does not listen: it is between its last act and its exit, or its socket was taken away, and then it
        makes another. One of 0.1.0 does not know how: where the keeper has duplicates, another shim takes its place; where not,
        it stays as it is."""
        if places.nudge(*shim):
            await asyncio.sleep(_SOCKET_SECONDS)
            return False
        if await asyncio.to_thread(proc.wait_for_exit, shim[0], _LEAVING_SECONDS):
            return False
        if places.catches(shim[0]) or self._connectable(live.session.id):
            return False
        if held:
            log.warning("%s: its shim cannot be reached any more; another takes its place", live.session.id)
            await asyncio.to_thread(proc.send_signal, *shim, signal.SIGKILL)
            return False
        if not live.unreachable:
            log.warning("%s: its shim cannot be reached any more; the session goes on", live.session.id)
            live.unreachable, live.guarantee = True, "best_effort"
            if isinstance(live.session.state, Starting):
                await self._confirm_from_file(live)
                live.guarantee = "best_effort"
        if isinstance(live.session.state, BeingEnded):
            await self._end_unreachable(live, shim)
            return True
        self.tasks.begin(self._look_again(live), f"find {live.session.id}")
        return True

    def _connectable(self, session: str) -> bool:
        sock = self._connect(session)
        if sock is not None:
            sock.close()
        return sock is not None

    async def _look_again(self, live: LiveSession) -> None:
        """When somebody wants it ended, or after a while."""
        deadline = time.monotonic() + _UNREACHABLE_SECONDS
        while not isinstance(live.session.state, BeingEnded) and time.monotonic() < deadline:
            await until(live.changed, deadline - time.monotonic())
        await self._find(live.session.id)

    async def _end_unreachable(self, live: LiveSession, shim: tuple[int, int]) -> None:
        """Nobody can ask its shim: that goes first, and then all that was below it."""
        below = await asyncio.to_thread(lambda: proc.descendants(proc.scan(), {shim[0]}))
        await asyncio.to_thread(proc.send_signal, *shim, signal.SIGKILL)
        await asyncio.to_thread(proc.wait_for_exit, shim[0], _LEAVING_SECONDS)
        roots = {stat.key for stat in below.values()}
        await self.ender.lose(live.session, "its holder could not be reached", roots)

    async def _give_up_or_retry(self, live: LiveSession, held: dict[str, Any]) -> bool:
        if held["given_up"]:
            return await self._lose(live)
        await asyncio.sleep(0.02)  # forked a moment ago: it listens before it writes its birth file
        return False

    async def _lose(self, live: LiveSession) -> bool:
        document = read_json(f"{self.registry.folder(live.session.id)}/exit.json")
        if document is not None:
            return False
        await self.ender.lose(live.session, "its holder was lost")
        return True

    def _shim_lost(self, session: str, child: bool) -> None:
        """From the keeper, once a new shim is forked."""
        event = self._lost.get(session)
        if event is not None:
            event.set()
        self._adopters[session] = self.keeper.process if child else None

    # -- a new keeper

    async def _keeper_renewed(self) -> None:
        await self._hold_all()
        await self.registry.note(
            None, DAEMON, "keeper lost", keeper=self.keeper.pid, held=len(self.registry.live_sessions)
        )

    async def _hold_all(self) -> None:
        """Every session's terminal or pipes must be held by the keeper that is there now."""
        held = await self.keeper.held()
        for live in list(self.registry.live_sessions.values()):
            if live.session.id in held or live.line is None or live.session.main is None or live.session.shim is None:
                continue
            try:
                answer, descriptors = await live.line.ask("copy")
                shim, main = live.session.shim, live.session.main
                await self.keeper.hold(
                    holding_spec(self.registry, live.session),
                    [shim.pid, shim.start],
                    [main.pid, main.start],
                    answer["names"],
                    descriptors,
                )
            except (LampError, RefusedError) as error:
                log.warning("%s is not held by the keeper: %s", live.session.id, error)
