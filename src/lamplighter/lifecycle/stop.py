"""Ending: the intent, the asking, the ladder that the shim climbs down, and the burial, with the proof looked at once more.

Endings run detached from whoever asked, and go on from the intent after a crash.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How, Intent, how_it_ended
from lamplighter.domain.permission import DAEMON, Caller, Rank
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.states import State
from lamplighter.drivers import driver_for
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.lifecycle.continuity.farewell import Farewell
from lamplighter.lifecycle.continuity.handing import Prepared
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.last_look import LastLook
from lamplighter.lifecycle.persistence import persist
from lamplighter.lifecycle.talk.leaving import Leaving
from lamplighter.lifecycle.tasks import Tasks, until
from lamplighter.lifecycle.tmux.panes import Panes
from lamplighter.lifecycle.vendor_daemons import VendorDaemons
from lamplighter.line import RefusedError

log = logging.getLogger(__name__)
_TURN_SECONDS = 30.0
_RETRY_SECONDS = 5.0


class Undertaker:
    def __init__(self, fleet: Fleet, tasks: Tasks, panes: Panes, farewell: Farewell, last_look: LastLook) -> None:
        self.fleet = fleet
        self.tasks = tasks
        self.panes = panes
        self.farewell = farewell
        self.last_look = last_look
        self.vendor_daemons = VendorDaemons(fleet, tasks)
        self.cgroup_base: str | None = None
        self.leaving: Leaving | None = None
        self.end_traced: Callable[[Lamp], Awaitable[None]] | None = None
        self.close_talk: Callable[[Lamp], Awaitable[bool]] | None = None
        self.end_talk: Callable[[Lamp], Awaitable[None]] | None = None
        self._carrying: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Event] = {}

    # -- asked for

    async def end(
        self,
        session: Session,
        caller: Caller,
        reason: str,
        *,
        grace: float,
        ask: bool,
        key: str,
        turn: asyncio.Event | None = None,
        hangup: float = 0.0,
        handoff: Prepared | None = None,
    ) -> dict[str, Any]:
        """Until it has ended, or its survivors are known. The caller's own session: as soon as the intent is written."""
        lamp = self.fleet.lamps.get(session.id)
        own = caller.session == session.id and caller.rank is Rank.SESSION
        intended = False
        if lamp is not None and lamp.session.state in (State.STARTING, State.RUNNING):
            intended = await self._intend(lamp, caller, reason, grace, ask, key, hangup, handoff)
            if own and turn is not None and intended:
                self._turns[session.id] = turn
        elif lamp is not None and not ask:
            await self._hurry(lamp, caller, grace)
        if handoff is not None and not intended:
            # It is on its way, or has ended, by somebody else's will: what is handed over is kept all the same.
            await self.farewell.handing.store(handoff)
        if lamp is None:  # it may have ended since it was found
            return await self._result(await self.fleet.now(session))
        self.carry_out(session.id)
        if own:
            return await self._provisional(lamp)
        while not lamp.ended.is_set() and lamp.phase != "survivors":
            await lamp.changed.wait()
        return await self._result(lamp.session, lamp)

    async def _intend(
        self,
        lamp: Lamp,
        caller: Caller,
        reason: str,
        grace: float,
        ask: bool,
        key: str,
        hangup: float,
        handoff: Prepared | None,
    ) -> bool:
        """The intent and what is handed over, in one transaction; False when somebody else's came first."""
        intent = Intent(
            by=caller.name,
            reason=reason,
            how=How.ASKED if ask else How.KILLED,
            grace=grace,
            at=self.fleet.clock.now(),
            ask=self.fleet.settings.ask if ask else 0.0,
            key=key,
            hangup=hangup,
        )
        changed = await self.fleet.change(
            lamp.session.id,
            caller,
            "end" if ask else "kill",
            lambda session: session.to_end(intent),
            also=(lambda db: self.farewell.handing.write(db, handoff)) if handoff else None,
            reason=reason,
            grace=grace,
        )
        return changed is not None

    async def _hurry(self, lamp: Lamp, caller: Caller, grace: float) -> None:
        """A kill of what is being ended already: no more asking, and the shorter grace counts."""

        def become(session: Session) -> Session | None:
            intent = session.intent
            if intent is None or not (intent.ask or grace < intent.grace):
                return None
            return replace(session, intent=replace(intent, ask=0.0, grace=min(grace, intent.grace), how=How.KILLED))

        await self.fleet.change(lamp.session.id, caller, "kill", become, grace=grace)
        if lamp.line is not None and lamp.session.intent is not None:
            await self._stop(lamp, lamp.session.intent)

    def carry_out(self, session: str) -> None:
        """Go on with an ending whose intent is written; one at a time."""
        if session not in self._carrying or self._carrying[session].done():
            self._carrying[session] = self.tasks.begin(self._carry_out(session), f"ending of {session}")

    async def _carry_out(self, session: str) -> None:
        lamp = self.fleet.lamps.get(session)
        turn = self._turns.pop(session, None)
        if turn is not None:
            await until(turn, _TURN_SECONDS)
        if lamp is None:
            return
        if lamp.session.traced and self.end_traced is not None:
            await self.vendor_daemons.stop_first(lamp.session)
            await self.end_traced(lamp)
            self._carrying.pop(session, None)
            return
        if lamp.session.logical:
            await self._close_logical(lamp)
            self._carrying.pop(session, None)
            return
        await self.farewell.follow(
            lamp.session
        )  # which conversation it is in is told by what was typed before it is asked
        await self._ask(lamp)
        while not lamp.ended.is_set():
            intent = lamp.session.intent
            assert intent is not None
            # Without a line the session is being looked for; whoever finds it wakes us.
            if lamp.line is not None and await self._stop(lamp, intent):
                break
            await lamp.changed.wait()
        self._carrying.pop(session, None)

    def find_logical(self, lamp: Lamp) -> None:
        """It has no process to be found: alive by its lease, or its end goes on."""
        lamp.guarantee = Guarantee.BEST_EFFORT.value
        if lamp.session.state is State.ENDING:
            self.carry_out(lamp.session.id)

    async def _close_logical(self, lamp: Lamp) -> None:
        """There is nobody to ask and nothing to signal: the intent is the end."""
        intent = lamp.session.intent
        assert intent is not None
        how = How.LOST if intent.how is How.LOST else How.ASKED
        nothing = Certificate(Guarantee.BEST_EFFORT, 0.0)
        await self._record(lamp, Ending(self.fleet.clock.now(), intent.by, intent.reason, how, None, nothing), output=0)

    async def _ask(self, lamp: Lamp) -> None:
        """In the session's own way, once, also across a crash; then give it time."""
        intent = lamp.session.intent
        if intent is None or not intent.ask or lamp.line is None or lamp.phase != "running":
            return
        if self.leaving is not None and await self.leaving.lead(lamp):
            return
        begun = await self.fleet.note_asking(lamp)
        deadline = time.monotonic() + intent.ask_left(self.fleet.clock.monotonic())
        if begun:
            try:
                if lamp.session.driver is Driver.ACP and self.close_talk is not None:
                    asking = self.close_talk(lamp)
                else:
                    asking = driver_for(lamp.session.driver).ask_to_stop(lamp.line, lamp.session.place)
                if not await asyncio.wait_for(asking, intent.ask):
                    return
            except (LampError, RefusedError, TimeoutError):
                return
        while not lamp.ended.is_set() and lamp.phase == "running" and lamp.session.intent and lamp.session.intent.ask:
            left = deadline - time.monotonic()
            if left <= 0 or not await until(lamp.changed, left):
                return

    async def _stop(self, lamp: Lamp, intent: Intent) -> bool:
        """Tell the shim; False when it could not be told. One that is older than `hangup` begins with TERM."""
        if lamp.phase in ("running", "leftovers"):
            await self.vendor_daemons.stop_first(lamp.session)
        if lamp.line is None:
            return False
        first: dict[str, Any] = {"hangup": intent.hangup} if intent.hangup else {}
        try:
            await lamp.line.ask("stop", grace=intent.grace, **first)
        except (LampError, RefusedError):
            return False
        return True

    async def protect(self, session: Session, protected: bool, caller: Caller) -> None:
        action = "protect" if protected else "unprotect"

        def become(before: Session) -> Session | None:
            return replace(before, protected=protected) if before.protected != protected else None

        await self.fleet.change(session.id, caller, action, become)

    # -- burial

    async def bury(self, session: Session, document: dict[str, Any]) -> None:
        """The shim's word on the end, checked against /proc once more, becomes the record."""
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None or lamp.ended.is_set():
            return
        certificate = Certificate.from_document(document["certificate"])
        intent = lamp.session.intent
        exit = Exit.from_document(document["exit"])
        left = exit is not None and exit.code is not None and _went_unsignalled(lamp.session, certificate)
        how = how_it_ended(intent, document.get("ladder") or [], left=left)
        if intent is not None and how is How.ASKED:
            # The shim does not know since when it was asked.
            certificate = replace(certificate, seconds=max(0.0, document["ended_at"] - intent.at))
        asked = intent is not None and not document.get("why")
        certificate = await self._clear(lamp.session, certificate, others=asked)
        certificate = await self.vendor_daemons.settle(lamp.session, certificate)
        if lamp.helped is not None:
            certificate = certificate.with_found(await lamp.helped)
        certificate = await self._look_once_more(lamp, certificate, asked=intent is not None)
        why = document.get("why") if intent is None else None
        await self._record(
            lamp,
            Ending(
                at=document["ended_at"],
                by=intent.by if intent else DAEMON.name if why else "itself",
                reason=intent.reason if intent else why or "",
                how=How.KILLED if why else how,
                exit=exit,
                certificate=certificate,
            ),
            output=document["offset"],
            usage=document.get("usage") or {},
        )

    async def _look_once_more(self, lamp: Lamp, certificate: Certificate, *, asked: bool) -> Certificate:
        """Over the whole machine, until nothing is left that we may end. Until then the session is ending, and says why."""
        if lamp.session.traced:
            return certificate  # its trail was followed to the end
        before = certificate.survivors
        while True:
            lamp.below |= {
                (entry["pid"], entry["start_ticks"])
                for entry in certificate.processes
                if proc.is_alive(entry["pid"], entry["start_ticks"])
            }
            certificate = await self.last_look.clear(lamp.session, certificate, asked=asked)
            left = certificate.survivors[len(before) :]
            if not left:
                return certificate
            log.error("%s: alive after its end: %s", lamp.session.id, left)
            lamp.certificate, lamp.phase = certificate.document(), "survivors"
            lamp.notify()
            certificate = replace(certificate, survivors=before)
            await until(lamp.changed, _RETRY_SECONDS)

    async def kill_below(self, lamp: Lamp) -> None:
        """For a shim that cannot get to the end and names nobody: one of 0.1.0 takes a process whose main thread has left for
        dead. What lives below it gets a KILL by pid from here, and the certificate says so."""
        shim = lamp.session.shim
        if shim is None:
            return
        roots = await asyncio.to_thread(self.last_look.below, shim.pid)
        if roots:
            how = dict.fromkeys(roots, "below its shim")
            # Known to be under way before the first signal: the shim's word on the end may come before we are done here.
            lamp.helped = asyncio.ensure_future(
                asyncio.to_thread(self.last_look.kill, lamp.session.id, roots, None, how)
            )
            await lamp.helped

    async def lose(self, session: Session, why: str, more: set[tuple[int, int]] = frozenset()) -> None:  # type: ignore[assignment]
        """Nobody holds it any more. What can still be traced of it is ended; the record says what is known."""
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None or lamp.ended.is_set():
            return
        intent = lamp.session.intent
        if session.boot == proc.boot_id():
            roots = {(process.pid, process.start) for process in (session.main,) if process is not None}
            certificate = await self._kill_known(lamp, roots | more)
            certificate = await self.last_look.clear(lamp.session, certificate, asked=True)
        else:
            certificate = Certificate(Guarantee.BEST_EFFORT, 0.0)
        certificate = await self._clear(lamp.session, certificate, others=intent is not None)
        certificate = await self.vendor_daemons.settle(lamp.session, certificate)
        await self._record(
            lamp,
            Ending(
                self.fleet.clock.now(),
                intent.by if intent else DAEMON.name,
                why,
                How.LOST,
                lamp.session.exit,
                certificate,
            ),
        )

    async def _clear(self, session: Session, certificate: Certificate, *, others: bool) -> Certificate:
        """What tmux still has of it goes too."""
        if session.driver is not Driver.TMUX or session.traced:
            return certificate
        return await self.panes.clear(session, certificate, others=others, kill=self.last_look.kill)

    async def _kill_known(self, lamp: Lamp, roots: set[tuple[int, int]]) -> Certificate:
        folder = f"{self.cgroup_base}/{lamp.session.id}" if self.cgroup_base else None
        return await asyncio.to_thread(self.last_look.kill, lamp.session.id, roots, folder)

    async def _record(
        self, lamp: Lamp, ending: Ending, output: int | None = None, usage: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        detail: dict[str, Any] = {
            "how": ending.how.value,
            "exit": ending.exit.document() if ending.exit else None,
            "guarantee": ending.certificate.guarantee.value,
            "processes": len(ending.certificate.processes),
            "seconds": ending.certificate.seconds,
        }
        by = Caller(Rank.OPERATOR, ending.by)
        reading = self.fleet.reading(lamp.session.id)
        printed = output if output is not None else reading.offset if reading else 0
        last = {"last_output": reading.last_output, "last_input": reading.last_input} if reading else {}

        async def save(summary: dict[str, Any], also: Callable[[sqlite3.Connection], None] | None) -> None:
            end = _with_ending(replace(ending, summary=summary), {"output": printed, **last})

            async def write() -> Session | None:
                return await self.fleet.change(lamp.session.id, by, "ended", end, also=also, **detail)

            await persist(write, f"the end of {lamp.session.id}")

        if lamp.session.driver is Driver.ACP and self.end_talk is not None:
            await self.end_talk(lamp)  # before its last account, which tells of what was said last
        await self.farewell.part(lamp.session, ending, usage, save)
        lamp.ended.set()
        lamp.notify()
        self.fleet.remove(lamp.session.id)
        if lamp.session.discarded:
            await asyncio.to_thread(shutil.rmtree, self.fleet.folder(lamp.session.id), ignore_errors=True)

    # -- telling

    async def _result(self, session: Session, lamp: Lamp | None = None) -> dict[str, Any]:
        if session.ending is not None:
            ending = session.ending
            told = _told(session, ending.how.value, ending.reason, ending.exit, ending.certificate.document())
            return {**told, "summary": ending.summary}
        certificate = (lamp.certificate if lamp else None) or Certificate(Guarantee.BEST_EFFORT, 0.0).document()
        intent = session.intent
        return _told(
            session, intent.how.value if intent else "", intent.reason if intent else "", session.exit, certificate
        )

    async def _provisional(self, lamp: Lamp) -> dict[str, Any]:
        intent = lamp.session.intent
        assert intent is not None
        nothing_yet = Certificate(Guarantee(lamp.guarantee), 0.0).document()
        told = _told(lamp.session, intent.how.value, intent.reason, None, nothing_yet)
        return {**told, "summary": await self.farewell.provisional(lamp.session)}


def _with_ending(ending: Ending, facts: dict[str, Any]) -> Callable[[Session], Session]:
    """The session's last change: its ending, how much it printed, and when that and its input were last."""
    return lambda session: replace(session.ended(ending), facts={**session.facts, **facts})


def _told(session: Session, how: str, reason: str, exit: Exit | None, certificate: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": session.id,
        "name": session.name,
        "state": session.state.value,
        "how": how,
        "reason": reason,
        "exit": exit.document() if exit else None,
        "certificate": certificate,
        "summary": {},
    }


def _went_unsignalled(session: Session, certificate: Certificate) -> bool:
    """Whether its command is among the dead and took no signal."""
    main = session.main
    return main is not None and any(
        (entry["pid"], entry["start_ticks"]) == (main.pid, main.start) and entry["signal"] is None
        for entry in certificate.processes
    )
