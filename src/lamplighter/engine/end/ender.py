"""Ending: the intent, the asking, the ladder that the shim climbs down, and the burial, with the proof looked at once more.

Endings run detached from whoever asked, and go on from the intent after a crash.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How, Intent, StopSteps, how_it_ended
from lamplighter.domain.permission import DAEMON, Caller, Rank
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded, Running, Starting, asking, intent_of
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import Tasks, persist, until
from lamplighter.engine.end.agent_exit import AgentExit
from lamplighter.engine.end.final_report import FinalReport
from lamplighter.engine.end.final_scan import FinalScan
from lamplighter.engine.end.vendor_daemons import VendorDaemons
from lamplighter.engine.memory.handoff_writer import Prepared
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.meter import MeterReading

log = logging.getLogger(__name__)
_TURN_SECONDS = 30.0
_RETRY_SECONDS = 5.0


class Ender:
    def __init__(
        self,
        registry: SessionRegistry,
        tasks: Tasks,
        backends: Backends,
        agent_exit: AgentExit,
        final_scan: FinalScan,
        final_report: FinalReport,
    ) -> None:
        self.registry = registry
        self.tasks = tasks
        self.backends = backends
        self.agent_exit = agent_exit
        self.final_scan = final_scan
        self.final_report = final_report
        self.vendor_daemons = VendorDaemons(registry, tasks)
        self._carrying: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Event] = {}

    # -- asked for

    async def end(
        self,
        session: Session,
        caller: Caller,
        reason: str,
        steps: StopSteps,
        *,
        key: str,
        turn: asyncio.Event | None = None,
        handoff: Prepared | None = None,
    ) -> dict[str, Any]:
        """Until it has ended, or its survivors are known. The caller's own session: as soon as the intent is written."""
        live = self.registry.live_sessions.get(session.id)
        own = caller.session == session.id and caller.rank is Rank.SESSION
        intended = False
        if live is not None and isinstance(live.session.state, Starting | Running):
            intended = await self._intend(live, caller, reason, steps, key, handoff)
            if own and turn is not None and intended:
                self._turns[session.id] = turn
        elif live is not None and not steps.ask:
            await self._hurry(live, caller, steps.grace)
        if handoff is not None and not intended:
            # It is on its way, or has ended, by somebody else's will: what is handed over is kept all the same.
            await self.final_report.handoff_writer.store(handoff)
        if live is None:  # it may have ended since it was found
            return await self._result(await self.registry.now(session))
        self.carry_out(session.id)
        if own:
            return await self._provisional(live)
        while not live.ended.is_set() and live.phase != "survivors":
            await live.changed.wait()
        return await self._result(live.session, live)

    async def _intend(
        self, live: LiveSession, caller: Caller, reason: str, steps: StopSteps, key: str, handoff: Prepared | None
    ) -> bool:
        """The intent and what is handed over, in one transaction; False when somebody else's came first."""
        intent = Intent(
            by=caller.name,
            reason=reason,
            how=How.ASKED if steps.ask else How.KILLED,
            grace=steps.grace,
            at=self.registry.clock.now(),
            ask=self.registry.settings.ask if steps.ask else 0.0,
            key=key,
            hangup=steps.hangup,
        )
        changed = await self.registry.change(
            live.session.id,
            caller,
            "end" if steps.ask else "kill",
            lambda session: session.to_end(intent),
            also=(lambda db: self.final_report.handoff_writer.write(db, handoff)) if handoff else None,
            reason=reason,
            grace=steps.grace,
        )
        return changed is not None

    async def _hurry(self, live: LiveSession, caller: Caller, grace: float) -> None:
        """A kill of what is being ended already: no more asking, and the shorter grace counts."""
        await self.registry.change(live.session.id, caller, "kill", lambda session: session.hurried(grace), grace=grace)
        if live.line is not None:
            await self._stop_shared(live)
            await self.backends.of(live.session).hurry(live)

    def carry_out(self, session: str) -> None:
        """Go on with an ending whose intent is written; one at a time."""
        if session not in self._carrying or self._carrying[session].done():
            self._carrying[session] = self.tasks.begin(self._carry_out(session), f"ending of {session}")

    async def _carry_out(self, session: str) -> None:
        live = self.registry.live_sessions.get(session)
        turn = self._turns.pop(session, None)
        if turn is not None:
            await until(turn, _TURN_SECONDS)
        if live is None:
            return
        backend = self.backends.of(live.session)
        if backend.can_be_asked:
            # Which conversation it is in is told by what was typed before it is asked.
            await self.final_report.follow(live.session)
            await self._ask(live)
        await self._stop_shared(live)
        word = await backend.stop(live)
        if isinstance(word, Ending):
            await self._record(live, word, output=0)
        elif word is not None:
            await self.bury(live.session, word)
        self._carrying.pop(session, None)

    async def _stop_shared(self, live: LiveSession) -> None:
        """What its agent runs in a daemon that it shares with others; of one that only tells of itself nobody knows that."""
        if live.phase in ("running", "leftovers") and live.session.lease is None:
            await self.vendor_daemons.stop_first(live.session)

    async def _ask(self, live: LiveSession) -> None:
        """In the session's own way, once, also across a crash; then give it time."""
        intent = intent_of(live.session.state)
        if intent is None or not intent.ask or live.line is None or live.phase != "running":
            return
        if await self.agent_exit.lead(live):
            return
        begun = await self.registry.note_asking(live)
        deadline = time.monotonic() + intent.ask_left(self.registry.clock.monotonic())
        if begun:
            try:
                question = self.backends.of(live.session).ask_to_end(live)
                if not await asyncio.wait_for(question, intent.ask):
                    return
            except (LampError, RefusedError, TimeoutError):
                return
        while not live.ended.is_set() and live.phase == "running" and asking(live.session.state):
            left = deadline - time.monotonic()
            if left <= 0 or not await until(live.changed, left):
                return

    async def protect(self, session: Session, protected: bool, caller: Caller) -> None:
        action = "protect" if protected else "unprotect"

        def become(before: Session) -> Session | None:
            return replace(before, protected=protected) if before.protected != protected else None

        await self.registry.change(session.id, caller, action, become)

    # -- burial

    async def bury(self, session: Session, document: dict[str, Any]) -> None:
        """The shim's word on the end, checked against /proc once more, becomes the record."""
        live = self.registry.live_sessions.get(session.id)
        if live is None or live.ended.is_set():
            return
        certificate = Certificate.from_document(document["certificate"])
        intent = intent_of(live.session.state)
        exit = Exit.from_document(document["exit"])
        left = exit is not None and exit.code is not None and _went_unsignalled(live.session, certificate)
        how = how_it_ended(intent, document.get("ladder") or [], left=left)
        if intent is not None and how is How.ASKED:
            # The shim does not know since when it was asked.
            certificate = replace(certificate, seconds=max(0.0, document["ended_at"] - intent.at))
        asked = intent is not None and not document.get("why")
        certificate = await self._clear(live.session, certificate, others=asked)
        certificate = await self.vendor_daemons.settle(live.session, certificate)
        if live.helped is not None:
            certificate = certificate.with_found(await live.helped)
        if not document.get("followed"):
            certificate = await self._look_once_more(live, certificate, asked=intent is not None)
        why = document.get("why") if intent is None else None
        await self._record(
            live,
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

    async def _look_once_more(self, live: LiveSession, certificate: Certificate, *, asked: bool) -> Certificate:
        """Over the whole machine, until nothing is left that we may end. Until then the session is ending, and says why."""
        before = certificate.survivors
        while True:
            live.below |= {
                (entry["pid"], entry["start_ticks"])
                for entry in certificate.processes
                if proc.is_alive(entry["pid"], entry["start_ticks"])
            }
            certificate = await self.final_scan.clear(live.session, certificate, asked=asked)
            left = certificate.survivors[len(before) :]
            if not left:
                return certificate
            log.error("%s: alive after its end: %s", live.session.id, left)
            live.certificate, live.phase = certificate.document(), "survivors"
            live.notify()
            certificate = replace(certificate, survivors=before)
            await until(live.changed, _RETRY_SECONDS)

    async def kill_below(self, live: LiveSession) -> None:
        """For a shim that cannot get to the end and names nobody: one of 0.1.0 takes a process whose main thread has left for
        dead. What lives below it gets a KILL by pid from here, and the certificate says so."""
        shim = live.session.shim
        if shim is None:
            return
        roots = await asyncio.to_thread(self.final_scan.below, shim.pid)
        if roots:
            how = dict.fromkeys(roots, "below its shim")
            # Known to be under way before the first signal: the shim's word on the end may come before we are done here.
            live.helped = asyncio.ensure_future(
                asyncio.to_thread(self.final_scan.kill, live.session.id, roots, None, how)
            )
            await live.helped

    async def lose(self, session: Session, why: str, more: set[tuple[int, int]] = frozenset()) -> None:  # type: ignore[assignment]
        """Nobody holds it any more. What can still be traced of it is ended; the record says what is known."""
        live = self.registry.live_sessions.get(session.id)
        if live is None or live.ended.is_set():
            return
        intent = intent_of(live.session.state)
        if session.boot == proc.boot_id():
            roots = {(process.pid, process.start) for process in (session.main,) if process is not None}
            certificate = await self._kill_known(live, roots | more)
            certificate = await self.final_scan.clear(live.session, certificate, asked=True)
        else:
            certificate = Certificate(Guarantee.BEST_EFFORT, 0.0)
        certificate = await self._clear(live.session, certificate, others=intent is not None)
        certificate = await self.vendor_daemons.settle(live.session, certificate)
        await self._record(
            live,
            Ending(
                self.registry.clock.now(),
                intent.by if intent else DAEMON.name,
                why,
                How.LOST,
                None,
                certificate,
            ),
        )

    async def _clear(self, session: Session, certificate: Certificate, *, others: bool) -> Certificate:
        """What is still there of the place where it ran goes too."""
        return await self.backends.of(session).clear(session, certificate, others=others, kill=self.final_scan.kill)

    async def _kill_known(self, live: LiveSession, roots: set[tuple[int, int]]) -> Certificate:
        return await asyncio.to_thread(
            self.final_scan.kill, live.session.id, roots, self.final_scan.cgroup_of(live.session.id)
        )

    async def _record(
        self,
        live: LiveSession,
        ending: Ending,
        output: int | None = None,
        usage: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        detail: dict[str, Any] = {
            "how": ending.how.value,
            "exit": ending.exit.document() if ending.exit else None,
            "guarantee": ending.certificate.guarantee.value,
            "processes": len(ending.certificate.processes),
            "seconds": ending.certificate.seconds,
        }
        by = Caller(Rank.OPERATOR, ending.by)
        reading = self.registry.reading(live.session.id)
        printed = output if output is not None else reading.offset if reading else 0

        async def save(summary: dict[str, Any], also: Callable[[sqlite3.Connection], None] | None) -> None:
            end = _with_ending(replace(ending, summary=summary), printed, reading)

            async def write() -> Session | None:
                return await self.registry.change(live.session.id, by, "ended", end, also=also, **detail)

            await persist(write, f"the end of {live.session.id}")

        backend = self.backends.of(live.session)
        await backend.last_words(live)  # before its last account, which tells of what was said last
        await self.final_report.part(live.session, ending, usage, save)
        live.ended.set()
        live.notify()
        self.registry.remove(live.session.id)
        backend.forget(live.session.id)
        if live.session.discarded:
            await asyncio.to_thread(shutil.rmtree, self.registry.folder(live.session.id), ignore_errors=True)

    # -- telling

    async def _result(self, session: Session, live: LiveSession | None = None) -> dict[str, Any]:
        if isinstance(session.state, HasEnded):
            ending = session.state.ending
            told = _told(session, ending.how.value, ending.reason, ending.exit, ending.certificate.document())
            return {**told, "summary": ending.summary}
        certificate = (live.certificate if live else None) or Certificate(Guarantee.BEST_EFFORT, 0.0).document()
        intent = intent_of(session.state)
        return _told(session, intent.how.value if intent else "", intent.reason if intent else "", None, certificate)

    async def _provisional(self, live: LiveSession) -> dict[str, Any]:
        intent = intent_of(live.session.state)
        assert intent is not None
        nothing_yet = Certificate(Guarantee(live.guarantee), 0.0).document()
        told = _told(live.session, intent.how.value, intent.reason, None, nothing_yet)
        return {**told, "summary": await self.final_report.provisional(live.session)}


def _with_ending(ending: Ending, output: int, reading: MeterReading | None) -> Callable[[Session], Session]:
    """The session's last change: its ending, how much it printed, and when that and its input were last."""

    def become(session: Session) -> Session:
        facts = replace(session.facts, output=output)
        if reading is not None:
            facts = replace(facts, last_output=reading.last_output, last_input=reading.last_input)
        return replace(session.ended(ending), facts=facts)

    return become


def _told(session: Session, how: str, reason: str, exit: Exit | None, certificate: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": session.id,
        "name": session.name,
        "state": session.state.word,
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
