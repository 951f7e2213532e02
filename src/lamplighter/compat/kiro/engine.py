"""Sessions of kiro-cli that last longer than any process of theirs: what became of their turns, and which have ended.

Knows turns and the runs behind them; knows nothing of who may, or of tools.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from lamplighter.compat.kiro import program, store
from lamplighter.compat.kiro.model import KiroSession, Turn, TurnKind, TurnState
from lamplighter.compat.kiro.printed_text import PrintedText, transcribe
from lamplighter.domain.ending import Ending, StopSteps
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import OURS, Session
from lamplighter.domain.states import HasEnded
from lamplighter.engine.backends.acp.transcript import spoken
from lamplighter.engine.service.patrol import PATROL
from lamplighter.slices import Part
from lamplighter.store import events, sessions

if TYPE_CHECKING:
    from lamplighter.app import App
_KEPT_SECONDS = 7 * 86400.0
LIMIT_PASSED = "limit"
_ENDED = "its session was ended in the middle of it"


class Kiro(Part):
    def __init__(self, app: App) -> None:
        super().__init__(app)
        self.registry = app.registry
        self.store = app.store
        self.ender = app.ender
        self.tasks = app.tasks
        self._speakers: dict[tuple[str, int, int], bool] = {}
        self.beginning: dict[str, asyncio.Event] = {}  # turns whose run is being started now

    def home(self, session: str) -> str:
        """Where this session's conversation is kept, apart from all others."""
        return f"{self.registry.settings.home.state}/kiro/{session}"

    async def resume(self) -> None:
        """After a crash: what was to be stopped is stopped."""
        for turn in await self.store.read(store.undone):
            run = await self.run_of(turn)
            if turn.stopped and run is not None and run.alive:
                self.tasks.begin(self._stop(run, turn), f"stop of {turn.id}")

    async def forget_old(self) -> None:
        await self.store.write(lambda db: store.forget_before(db, self.registry.clock.now() - _KEPT_SECONDS))

    async def _stop(self, run: Session, turn: Turn) -> None:
        reason = f"{turn.id} {turn.stopped}"
        grace = self.registry.settings.grace
        await self.ender.end(run, DAEMON, reason, StopSteps(ask=False, grace=grace), key=f"{turn.key}/stop")
        await self.settle(turn)

    async def run_of(self, turn: Turn) -> Session | None:
        """The session of ours that this turn is; None when it never came to be."""
        found = await self.store.get(lambda db: sessions.by_key(db, turn.key))
        return await self.registry.now(found) if found is not None else None

    async def conversation(self, turn: Turn) -> str | None:
        """What kiro-cli calls the conversation that the turn before this one was in, over ACP."""

        def read(db: sqlite3.Connection) -> list[Turn]:
            return store.turns_of(db, turn.owner, turn.session, True)

        before = [
            each for each in await self.store.get(read) if each.id != turn.id and each.kind is not TurnKind.COMMAND
        ]
        run = await self.run_of(before[-1]) if before else None
        return run.conversation.get("id") if run is not None and run.transcript_form == OURS else None

    async def speaks_acp(self, path: str, environment: Mapping[str, str]) -> bool:
        """Whether this kiro-cli can be spoken to so; found out once for each program."""
        try:
            found = os.stat(path)
        except OSError:
            return False
        known = (path, found.st_mtime_ns, found.st_size)
        if known not in self._speakers:
            self._speakers = {known: await asyncio.to_thread(program.speaks_acp, path, environment)}
        return self._speakers[known]

    @contextmanager
    def starting(self, turn: str) -> Generator[None]:
        """While its run is being started."""
        event = self.beginning[turn] = asyncio.Event()
        try:
            yield
        finally:
            del self.beginning[turn]
            event.set()

    async def begun(self, turn: Turn) -> None:
        """Once its run has been started, or could not be."""
        event = self.beginning.get(turn.id)
        if event is not None:
            await event.wait()

    async def session_changes(self) -> AsyncIterator[None]:
        """Whenever somebody's sessions have come or gone, or were spoken to."""
        before = await self.store.get(store.open_sessions)
        while True:
            await self.registry.news.wait()
            now = await self.store.get(store.open_sessions)
            if now != before:
                before = now
                yield None

    # -- what became of turns

    async def settle(self, turn: Turn) -> Turn:
        """The turn as it is now. One whose run has ended is written down for good, once."""
        if turn.done:
            return turn
        run = await self.run_of(turn)
        if run is None:
            return turn
        said, failure = await asyncio.to_thread(_said, self.registry.folder(run.id), run)
        if not isinstance(run.state, HasEnded):
            state = TurnState.STREAMING if said.chunks else TurnState.RUNNING
            return replace(turn, state=state, chunks=said.chunks, times=said.times, errors=said.errors)
        # Read once more: the wish to stop it is written before the act, so it is there by now if it was the cause.
        turn = await self.store.get(lambda db: store.turn(db, turn.id, turn.owner)) or turn
        if turn.done:
            return turn
        done = _outcome(turn, run, run.state.ending, said, failure)
        if await self.finish(done):
            return done
        return await self.store.get(lambda db: store.turn(db, turn.id, turn.owner)) or done

    async def finish(self, done: Turn) -> bool:
        def write(db: sqlite3.Connection) -> bool:
            if not store.finish_turn(db, done):
                return False
            at = done.ended_at or self.registry.clock.now()
            store.touch(db, done.session, at)
            if done.kind is not TurnKind.COMMAND and done.state is TurnState.COMPLETED:
                store.remark(db, done, "assistant", done.content, at)
            return True

        return await self.store.write(write)

    async def sweep(self) -> None:
        """Bring up to date whoever's it is: turns that are over, and sessions that nobody has spoken to for too long."""
        for turn in await self.store.read(store.undone):
            await self.settle(turn)
        now = self.registry.clock.now()
        for session in await self.store.get(store.open_sessions):
            if now - session.last_active > session.idle_seconds:
                await self._expire(session, now)

    async def _expire(self, session: KiroSession, now: float) -> None:
        def write(db: sqlite3.Connection) -> bool:
            if store.undone_of(db, session.id) is not None:
                return False
            if not store.end_session(db, session, now, "idle", None):
                return False
            events.append(db, now, None, PATROL.name, "kiro session ended", kiro=session.id, why="idle")
            return True

        if await self.store.write(write):
            self.registry.announce()
            await self.forget_home(session.id)

    async def abandon(self, session: str) -> None:
        """A turn that was interrupted before its run began, and that nobody has come back for, keeps its session no more."""
        turn = await self.store.get(lambda db: store.undone_of(db, session))
        if turn is None or turn.id in self.beginning or await self.run_of(turn) is not None:
            return
        state = TurnState.CANCELLED if turn.stopped else TurnState.FAILED
        failure = "it was interrupted before it began; nothing was run"
        await self.finish(replace(turn, state=state, ended_at=self.registry.clock.now(), failure=failure))

    async def forget_home(self, session: str) -> None:
        await asyncio.to_thread(shutil.rmtree, self.home(session), ignore_errors=True)

    async def forget_conversation(self, session: str) -> None:
        await asyncio.to_thread(program.forget_conversation, self.home(session))


def kiro_of(app: App) -> Kiro:
    return app.parts.get(Kiro)


def _said(folder: str, run: Session) -> tuple[PrintedText, str | None]:
    """What it said; over ACP also whether it answered: why it did not, or "" when it did."""
    if run.transcript_form != OURS:
        return transcribe(folder, ended=not run.alive), None
    found = spoken(folder)
    errors = transcribe(folder, ended=not run.alive).errors
    return PrintedText(found.chunks, errors, found.times), found.failure if found.stopped else None


def _outcome(turn: Turn, run: Session, ending: Ending, said: PrintedText, failure: str | None) -> Turn:
    code = ending.exit.code if ending.exit else None
    spoken_at = {"chunks": said.chunks, "times": said.times, "errors": said.errors}
    done = replace(turn, ended_at=ending.at, exit_code=code, **spoken_at)
    if turn.stopped:
        return replace(done, state=TurnState.CANCELLED, failure=_ENDED if turn.stopped == "ended" else "cancelled")
    if failure is not None:
        state = TurnState.FAILED if failure else TurnState.COMPLETED
        return replace(done, state=state, failure=failure, exit_code=code if failure else 0)
    if run.transcript_form != OURS and code == 0 and ending.by == "itself":
        return replace(done, state=TurnState.COMPLETED)
    if ending.by == PATROL.name:
        return replace(done, state=TurnState.FAILED, failure=f"{LIMIT_PASSED}: {ending.reason}")
    return replace(done, state=TurnState.FAILED, failure=_why(ending))


def _why(ending: Ending) -> str:
    exit = ending.exit
    if ending.by != "itself":
        return f"it was ended by {ending.by}: {ending.reason or ending.how.value}"
    if exit is None or (exit.code is None and exit.signal is None):
        return "it ended where nobody saw how"
    return f"it died by {exit.signal}" if exit.signal else f"it ended with status {exit.code}"
