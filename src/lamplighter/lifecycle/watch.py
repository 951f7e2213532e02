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
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lamplighter.domain.ending import How, Intent
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Process, Session
from lamplighter.domain.states import State
from lamplighter.errors import LampError
from lamplighter.holder import boot, places, proc
from lamplighter.holder.files import read_json
from lamplighter.lifecycle.continuity.farewell import Farewell
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.lifecycle.last_look import LastLook
from lamplighter.lifecycle.launch.holding import holding_spec
from lamplighter.lifecycle.launch.launcher import Launcher
from lamplighter.lifecycle.stop import Undertaker
from lamplighter.lifecycle.tasks import Tasks, until
from lamplighter.lifecycle.tmux.panes import Panes
from lamplighter.line import Line, RefusedError

log = logging.getLogger(__name__)
_TAKEOVER_SECONDS = 10.0
_HELP_SECONDS = 10.0
_SOCKET_SECONDS = 0.02
_LEAVING_SECONDS = 2.0
_AGAIN_SECONDS = 0.2
_UNREACHABLE_SECONDS = 10.0


class Watch:
    def __init__(self, fleet: Fleet, keeping: Keeping, tasks: Tasks, farewell: Farewell) -> None:
        self.fleet = fleet
        self.keeping = keeping
        self.tasks = tasks
        self.panes = Panes(fleet, keeping)
        self.launcher = Launcher(fleet, keeping, self.panes, self.adopt, self._find)
        self.undertaker = Undertaker(fleet, tasks, self.panes, farewell, LastLook(fleet, keeping))
        self.closing = False
        self.on_query: Callable[[Lamp, dict[str, Any]], None] = lambda _lamp, _event: None
        self.on_rolled: Callable[[Lamp], None] = lambda _lamp: None
        self.find_traced: Callable[[Lamp], None] = lambda _lamp: None
        self.on_line: Callable[[Lamp], None] = lambda _lamp: None
        self._lost: dict[str, asyncio.Event] = {}
        self._finding: set[str] = set()
        self._adopters: dict[str, tuple[int, int] | None] = {}
        keeping.on_lost = self._shim_lost
        keeping.on_renewed = self._keeper_renewed

    # -- at start

    async def reconcile(self) -> None:
        """Every session that the store says is alive: found again, or its end recorded."""
        boot = proc.boot_id()
        for lamp in list(self.fleet.lamps.values()):
            if lamp.session.boot != boot and not lamp.session.logical:  # which has no process to lose
                await self.undertaker.lose(lamp.session, "the machine was restarted")
        await asyncio.gather(*(self._find(session) for session in list(self.fleet.lamps)))
        await self._hold_all()

    # -- a session's line

    def adopt(self, session: str, sock: socket.socket) -> Line:
        """Listen to a shim from now on."""
        line = Line(
            sock,
            f"the shim of {session}",
            lambda event: self._heard(session, event),
            lambda: self._closed(session, line),
        )
        lamp = self.fleet.lamps[session]
        lamp.line = line
        lamp.notify()
        self.on_line(lamp)
        return line

    def _heard(self, session: str, event: dict[str, Any]) -> None:
        lamp = self.fleet.lamps.get(session)
        handler = getattr(self, f"_on_{event['event']}", None)
        if lamp is not None and handler is not None:
            handler(lamp, event)

    def _on_started(self, lamp: Lamp, event: dict[str, Any]) -> None:
        birth = self.launcher.started.get(lamp.session.id)
        if birth is not None and not birth.done():
            birth.set_result(event)

    _on_failed = _on_started

    def _on_hello(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.tasks.begin(self._greeted(lamp, event), f"greet {lamp.session.id}")

    async def _greeted(self, lamp: Lamp, hello: dict[str, Any]) -> None:
        """A shim that was there before this line: learn what happened meanwhile."""
        lamp.guarantee, lamp.phase = hello["guarantee"], hello["phase"]
        lamp.certificate = hello["certificate"]
        if lamp.session.state is State.STARTING:
            await self.launcher.confirm(lamp.session, hello)
        shim = Process(*hello["shim"])
        if hello["adopted"] and lamp.session.shim != shim:
            await self._holder_lost(lamp, shim, Process(*hello["main"]))
        if hello.get("unwritten"):
            await self._take_word(lamp, hello["unwritten"])
            return
        if hello["why"] and lamp.session.state is State.RUNNING:
            await self._abandoned(lamp, hello["why"])
        lamp.notify()
        if lamp.phase == "survivors":
            await self._survived(lamp, hello["certificate"])
        if lamp.session.state is State.ENDING and lamp.phase in ("running", "leftovers"):
            self.undertaker.carry_out(lamp.session.id)

    async def _holder_lost(self, lamp: Lamp, shim: Process, main: Process) -> None:
        """Its first shim is gone. What that one was the ancestor of hangs under the keeper now, if the keeper forked it."""
        adopter = self._adopters.get(lamp.session.id)
        facts = {"adopter": list(adopter) if adopter else None, "cgroup": lamp.session.id in self._with_cgroup()}

        def become(session: Session) -> Session:
            return replace(session, shim=shim, main=main, holder_lost=True, facts={**session.facts, **facts})

        changed = await self.fleet.change(lamp.session.id, DAEMON, "holder lost", become, held_by=shim.pid)
        if changed is not None:
            self.fleet.keep_lost(changed)

    def _with_cgroup(self) -> set[str]:
        base = self.keeping.cgroup
        return set(os.listdir(base)) if base and os.path.isdir(base) else set()

    def _on_phase(self, lamp: Lamp, event: dict[str, Any]) -> None:
        if event["phase"] == "survivors":
            return  # told of with the certificate, in an event of its own
        lamp.phase = event["phase"]
        lamp.notify()
        if lamp.phase == "leftovers":
            self.tasks.begin(self._exited(lamp, event["exit"]), f"exit of {lamp.session.id}")

    async def _exited(self, lamp: Lamp, exit: dict[str, Any]) -> None:
        await self.fleet.note(lamp.session.id, DAEMON, "exited", exit=exit, children="kept")

    def _on_survivors(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.tasks.begin(self._survived(lamp, event["certificate"]), f"survivors of {lamp.session.id}")

    async def _survived(self, lamp: Lamp, certificate: dict[str, Any]) -> None:
        """A shim that cannot get to the end and names nobody is helped first."""
        if not certificate["survivors"]:
            await self.undertaker.kill_below(lamp)
            if await until(lamp.ended, _HELP_SECONDS):
                return
        lamp.certificate = certificate
        lamp.phase = "survivors"
        lamp.notify()

    def _on_output(self, lamp: Lamp, _: dict[str, Any]) -> None:
        lamp.output.set()
        lamp.output = asyncio.Event()

    def _on_rolled(self, lamp: Lamp, _: dict[str, Any]) -> None:
        self.on_rolled(lamp)

    def _on_query(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.on_query(lamp, event)

    def _on_people(self, lamp: Lamp, _: dict[str, Any]) -> None:
        lamp.notify()

    def _on_abandoned(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.tasks.begin(self._abandoned(lamp, event["why"]), f"abandon {lamp.session.id}")

    async def _abandoned(self, lamp: Lamp, why: str) -> None:
        """A session that belonged to a client: the shim has begun to end it."""
        intent = Intent(DAEMON.name, why, How.TERMINATED, self.fleet.settings.grace, self.fleet.clock.now())
        await self.fleet.change(lamp.session.id, DAEMON, "end", lambda session: session.to_end(intent), reason=why)

    def _on_unwritten(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.tasks.begin(self._take_word(lamp, event["document"]), f"end of {lamp.session.id}")

    async def _take_word(self, lamp: Lamp, document: dict[str, Any]) -> None:
        """It has ended, and its shim cannot write that down: what it says counts as much, and then it may go."""
        line, lamp.line = lamp.line, None  # or the burial would close it before the shim is told
        if lamp.session.state is State.STARTING:
            await self._confirm_from_file(lamp)
        await self.undertaker.bury(lamp.session, document)
        if line is not None:
            line.tell("recorded")

    def _on_restricted(self, lamp: Lamp, _: dict[str, Any]) -> None:
        """A shim that does not know us for the daemon (yet): our lock was taken away, and is made again."""
        self.tasks.begin(self._try_again(lamp), f"find {lamp.session.id}")

    async def _try_again(self, lamp: Lamp) -> None:
        await asyncio.sleep(_AGAIN_SECONDS)
        if lamp.line is not None:
            lamp.line.close()

    def _on_ended(self, lamp: Lamp, _: dict[str, Any]) -> None:
        self.tasks.begin(self._find(lamp.session.id), f"end of {lamp.session.id}")

    def _closed(self, session: str, line: Line) -> None:
        lamp = self.fleet.lamps.get(session)
        birth = self.launcher.started.get(session)
        if birth is not None and not birth.done():
            birth.set_result({"event": "failed", "stage": "holder", "errno": 5})
        if lamp is None or lamp.line is not line:
            return
        lamp.line = None
        if not self.closing and lamp.session.state is not State.STARTING:
            self.tasks.begin(self._find(session), f"find {session}")

    # -- finding

    async def _find(self, session: str) -> None:
        """By its exit file, its socket, the keeper, or its shim's process, in this order; else it is lost."""
        if session in self._finding:
            return
        self._finding.add(session)
        try:
            while (lamp := self.fleet.lamps.get(session)) is not None and not await self._found(lamp):
                pass
        finally:
            self._finding.discard(session)

    async def _found(self, lamp: Lamp) -> bool:
        session, folder = lamp.session, self.fleet.folder(lamp.session.id)
        if session.traced:
            self.find_traced(lamp)
            return True
        if session.logical:
            self.undertaker.find_logical(lamp)
            return True
        document = read_json(f"{folder}/exit.json")
        if document is not None:
            if session.state is State.STARTING:
                await self._confirm_from_file(lamp)
            await self.undertaker.bury(lamp.session, document)
            return True
        if lamp.line is not None and lamp.line.alive:
            return True
        sock = self._connect(session.id)
        if sock is not None:
            lamp.unreachable = False
            self.adopt(session.id, sock)
            return True
        birth = read_json(f"{folder}/birth.json")
        if birth is None and session.state is State.STARTING:
            await self._resume(session)
            return True
        return await self._ask_keeper(lamp, birth)

    def _connect(self, session: str) -> socket.socket | None:
        home = self.fleet.settings.home
        found = (boot.connect(f"{run}/s/{session}.sock") for run in places.runs(home.run, home.state))
        return next((sock for sock in found if sock is not None), None)

    async def _confirm_from_file(self, lamp: Lamp) -> None:
        birth = read_json(f"{self.fleet.folder(lamp.session.id)}/birth.json") or {}
        hello = {"shim": birth.get("shim") or [0, 0], "main": birth.get("main") or [0, 0], "guarantee": "tree"}
        await self.launcher.confirm(lamp.session, hello)

    async def _resume(self, session: Session) -> None:
        """The intent to start is written, and nothing was born yet."""
        try:
            await self.launcher.resume(session)
        except LampError as error:
            log.warning("%s was not started: %s", session.id, error)

    async def _ask_keeper(self, lamp: Lamp, birth: dict[str, Any] | None) -> bool:
        """Held by the keeper: a new shim is there or about to be. Not held: it is lost."""
        event = self._lost.setdefault(lamp.session.id, asyncio.Event())
        event.clear()
        try:
            held = (await self.keeping.held()).get(lamp.session.id)
        except (LampError, RefusedError) as error:
            log.error("the keeper cannot be asked for %s: %s", lamp.session.id, error)
            held = None
        known = lamp.session.shim
        shim = (birth or {}).get("shim") or ([known.pid, known.start] if known else None)
        if held is not None and (held["shim"] != shim or held["given_up"]):
            return await self._give_up_or_retry(lamp, held)
        if shim and proc.is_alive(*shim):
            return await self._wait_for_socket(lamp, (shim[0], shim[1]), held is not None)
        if held is not None:
            try:
                await asyncio.wait_for(event.wait(), _TAKEOVER_SECONDS)
            except TimeoutError:
                return await self._lose(lamp)
            return False
        return await self._lose(lamp)

    async def _wait_for_socket(self, lamp: Lamp, shim: tuple[int, int], held: bool) -> bool:
        """Its shim lives and does not listen: it is between its last act and its exit, or its socket was taken away, and then it
        makes another. One of 0.1.0 does not know how: where the keeper has duplicates, another shim takes its place; where not,
        it stays as it is."""
        if places.nudge(*shim):
            await asyncio.sleep(_SOCKET_SECONDS)
            return False
        if await asyncio.to_thread(proc.wait_for_exit, shim[0], _LEAVING_SECONDS):
            return False
        if places.catches(shim[0]) or self._connectable(lamp.session.id):
            return False
        if held:
            log.warning("%s: its shim cannot be reached any more; another takes its place", lamp.session.id)
            await asyncio.to_thread(proc.send_signal, *shim, signal.SIGKILL)
            return False
        if not lamp.unreachable:
            log.warning("%s: its shim cannot be reached any more; the session goes on", lamp.session.id)
            lamp.unreachable, lamp.guarantee = True, "best_effort"
            if lamp.session.state is State.STARTING:
                await self._confirm_from_file(lamp)
                lamp.guarantee = "best_effort"
        if lamp.session.state is State.ENDING:
            await self._end_unreachable(lamp, shim)
            return True
        self.tasks.begin(self._look_again(lamp), f"find {lamp.session.id}")
        return True

    def _connectable(self, session: str) -> bool:
        sock = self._connect(session)
        if sock is not None:
            sock.close()
        return sock is not None

    async def _look_again(self, lamp: Lamp) -> None:
        """When somebody wants it ended, or after a while."""
        deadline = time.monotonic() + _UNREACHABLE_SECONDS
        while lamp.session.state is not State.ENDING and time.monotonic() < deadline:
            await until(lamp.changed, deadline - time.monotonic())
        await self._find(lamp.session.id)

    async def _end_unreachable(self, lamp: Lamp, shim: tuple[int, int]) -> None:
        """Nobody can ask its shim: that goes first, and then all that was below it."""
        below = await asyncio.to_thread(lambda: proc.descendants(proc.scan(), {shim[0]}))
        await asyncio.to_thread(proc.send_signal, *shim, signal.SIGKILL)
        await asyncio.to_thread(proc.wait_for_exit, shim[0], _LEAVING_SECONDS)
        roots = {stat.key for stat in below.values()}
        await self.undertaker.lose(lamp.session, "its holder could not be reached", roots)

    async def _give_up_or_retry(self, lamp: Lamp, held: dict[str, Any]) -> bool:
        if held["given_up"]:
            return await self._lose(lamp)
        await asyncio.sleep(0.02)  # forked a moment ago: it listens before it writes its birth file
        return False

    async def _lose(self, lamp: Lamp) -> bool:
        document = read_json(f"{self.fleet.folder(lamp.session.id)}/exit.json")
        if document is not None:
            return False
        await self.undertaker.lose(lamp.session, "its holder was lost")
        return True

    def _shim_lost(self, session: str, child: bool) -> None:
        """From the keeper, once a new shim is forked."""
        event = self._lost.get(session)
        if event is not None:
            event.set()
        self._adopters[session] = self.keeping.process if child else None

    # -- a new keeper

    async def _keeper_renewed(self) -> None:
        await self._hold_all()
        await self.fleet.note(None, DAEMON, "keeper lost", keeper=self.keeping.pid, held=len(self.fleet.lamps))

    async def _hold_all(self) -> None:
        """Every session's terminal or pipes must be held by the keeper that is there now."""
        held = await self.keeping.held()
        for lamp in list(self.fleet.lamps.values()):
            if lamp.session.id in held or lamp.line is None or lamp.session.main is None or lamp.session.shim is None:
                continue
            try:
                answer, descriptors = await lamp.line.ask("copy")
                shim, main = lamp.session.shim, lamp.session.main
                await self.keeping.hold(
                    holding_spec(self.fleet, lamp.session),
                    [shim.pid, shim.start],
                    [main.pid, main.start],
                    answer["names"],
                    descriptors,
                )
            except (LampError, RefusedError) as error:
                log.warning("%s is not held by the keeper: %s", lamp.session.id, error)
