"""The daemon's part in the talk with one agent: takes in what it says, writes what is to be said, keeps both.

Every step is stored, with the conversation and what is asked of the operator, before anything is written to the agent; and what
is written has a key, under which the shim writes it once. So a daemon that dies at any point is followed by one that goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lamplighter.domain import approval as rules
from lamplighter.domain.approval import Approval, Standing, Wish
from lamplighter.domain.memory.exchange import Exchange
from lamplighter.domain.permission import Caller, Rank
from lamplighter.engine.backends.acp.step import AcpStep, Ask
from lamplighter.engine.backends.acp.transcript import AcpTranscript
from lamplighter.engine.core.holder_client import BrokenError, RefusedError
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import persist
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import Code, UnavailableError
from lamplighter.holder.log_reader import Chunk, LogReader
from lamplighter.holder.segments import STDOUT
from lamplighter.store import approvals, events, exchanges

log = logging.getLogger(__name__)
OPERATION = "use_tool"
"""What an approval of an agent's request for permission is listed as."""
_PAGE = 256 << 10
_PIECE = 512 << 10
_LONGEST_LINE = 64 << 20
_DRIFT = 1 << 20
_LATEST = 86400.0 * 365
"""A request for permission waits for as long as the agent does."""


class AcpPeer:
    """`moved` is set, and made anew, with every step: for whoever waits for one."""

    def __init__(self, registry: SessionRegistry, reading: OutputReader, live: LiveSession, exchange: Exchange) -> None:
        self.registry = registry
        self.reading = reading
        self.live = live
        self.id = live.session.id
        self.exchange = exchange
        self.journal = AcpTranscript(registry.folder(self.id))
        self.moved = asyncio.Event()
        self.wake = asyncio.Event()
        self.lock = asyncio.Lock()
        self._reader = LogReader(registry.folder(self.id))
        self._position = exchange.cursor
        self._partial = bytearray()
        self._skipping = False
        self._stored = exchange.cursor
        self._uncertain = bool(exchange.outbox)
        self._taking = asyncio.Lock()

    # -- steps

    async def step(self, make: Callable[[AcpStep], Any], at: float | None = None) -> Any:
        """Make one, store it, and have it take effect. Nothing has changed when the store does not take it."""
        async with self.lock:
            step = AcpStep(self.exchange.copy(), self.registry.clock.now() if at is None else at)
            result = make(step)
            await self._store(step)
        self.wake.set()
        return result

    async def _store(self, step: AcpStep) -> None:
        exchange = step.exchange
        asked = [(ask, self._approval(ask)) for ask in step.asks if ask.call in exchange.asked]
        for ask, approval in asked:
            exchange.asked[ask.call]["approval"] = approval.id
        if step.entries:
            exchange.size = self._write(step)

        def write(db: sqlite3.Connection) -> None:
            exchanges.save(db, self.id, exchange)
            for _, approval in asked:
                approvals.save(db, approval)
                self._note(db, approval, "approval asked")
            for identifier in step.withdrawn:
                self._withdraw(db, identifier)
            for identifier in step.used:
                self._use(db, identifier)

        await self.registry.store.write(write)
        self.exchange, self._stored = exchange, exchange.cursor
        self.moved.set()
        self.moved = asyncio.Event()
        if asked or step.withdrawn:
            self.registry.announce()

    def _write(self, step: AcpStep) -> int:
        try:
            return self.journal.add(step.exchange.size, step.entries, step.exchange.last)
        except OSError as error:
            raise UnavailableError(
                Code.DISK_FULL,
                f"the conversation of {self.live.session.name} cannot be written: {error.strerror}",
                "make room on the disk and try again; nothing was changed",
            ) from error

    # -- approvals

    def _approval(self, ask: Ask) -> Approval:
        session = self.live.session
        wish = Wish(
            caller=Caller(Rank.SESSION, f"session:{self.id}", within=self.id),
            operation=OPERATION,
            session=self.id,
            alive=True,
            arguments={**ask.arguments, "request": ask.call},
            key="",
            why=f"{session.name} asks before it does this",
        )
        asked = rules.ask(wish, self.registry.clock.now())
        return replace(asked, expires_at=asked.asked_at + _LATEST)

    def _withdraw(self, db: sqlite3.Connection, identifier: str) -> None:
        found = approvals.get(db, identifier)
        if found is not None and found.state is Standing.ASKED:
            gone = replace(found, state=Standing.REFUSED, decided_by="lamplighter", arguments=None)
            approvals.save(db, gone)
            self._note(db, gone, "approval withdrawn")

    def _use(self, db: sqlite3.Connection, identifier: str) -> None:
        found = approvals.get(db, identifier)
        if found is not None and found.state is Standing.GRANTED:
            used = replace(found, state=Standing.USED, used_at=self.registry.clock.now(), arguments=None)
            approvals.save(db, used)
            self._note(db, used, "approval used")

    def _note(self, db: sqlite3.Connection, approval: Approval, action: str) -> None:
        detail = {"request": approval.label, "operation": approval.operation, "caller": approval.caller}
        events.append(db, self.registry.clock.now(), self.id, approval.caller, action, **detail)

    async def decide(self, found: Approval) -> None:
        """The operator's word reaches the agent, once; what is decided is used by that."""
        call = next((call for call, asked in self.exchange.asked.items() if asked["approval"] == found.id), None)
        if call is None or found.state not in (Standing.GRANTED, Standing.REFUSED):
            return
        granted, by = found.state is Standing.GRANTED, found.decided_by or "operator"
        await persist(lambda: self.step(lambda step: step.answer(call, granted, by)), f"the answer to {self.id}")

    async def decide_open(self) -> None:
        """What was decided while no daemon was there to pass it on."""
        for asked in list(self.exchange.asked.values()):
            found = await self.registry.store.get(lambda db, name=asked["approval"]: approvals.get(db, name))
            if found is not None:
                await self.decide(found)

    # -- taking in

    async def take_in(self) -> None:
        """All that the agent has said by now."""
        async with self._taking:
            while await self._take_page():
                pass

    async def _take_page(self) -> bool:
        page = await asyncio.to_thread(self._reader.read, self._position, _PAGE)
        lines: list[tuple[bytes, int, float]] = []
        parts = sorted([*page.chunks, *page.gaps], key=lambda part: part.offset)
        lost = 0
        for part in parts:
            if isinstance(part, Chunk):
                if part.stream == STDOUT:
                    lines += self._lines(part)
            else:
                lost += part.lost
                self._partial.clear()
                self._skipping = False
        cursor = page.next_cursor if not self._partial and not self._skipping else None
        if lines or lost:
            await persist(lambda: self._take(lines, lost, cursor), f"the conversation of {self.id}")
        elif cursor is not None and cursor - self._stored > _DRIFT:
            await persist(lambda: self._take([], 0, cursor), f"the conversation of {self.id}")
        self._position = page.next_cursor
        return not page.end

    def _lines(self, chunk: Chunk) -> list[tuple[bytes, int, float]]:
        """The lines that this ends, each with the cursor after it; what begins one waits."""
        found: list[tuple[bytes, int, float]] = []
        begin = 0
        while (end := chunk.data.find(b"\n", begin)) >= 0:
            line = bytes(self._partial) + chunk.data[begin:end]
            if not self._skipping:
                found.append((line, chunk.offset + end + 1, chunk.time))
            self._partial.clear()
            self._skipping, begin = False, end + 1
        if not self._skipping:
            self._partial += chunk.data[begin:]
        if len(self._partial) > _LONGEST_LINE:
            self._partial.clear()
            self._skipping = True
        return found

    async def _take(self, lines: list[tuple[bytes, int, float]], lost: int, cursor: int | None) -> None:
        def make(step: AcpStep) -> None:
            if lost:
                step.lose(lost)
            for line, after, at in lines:
                step.at = at
                try:
                    step.hear(line)
                except Exception:  # whatever an agent says, the talk goes on: the log has it, and the next line counts
                    log.exception("%s: a message could not be taken in", self.id)
                step.exchange.cursor = after
            if cursor is not None:
                step.exchange.cursor = cursor

        await self.step(make)

    # -- writing

    async def put_out(self) -> None:
        """What is to be said, in order, each once. Returns when there is nothing more to say, or nobody who hears."""
        while self.exchange.outbox and self.live.line is not None and self.live.line.alive:
            letter = self.exchange.outbox[0]
            try:
                await self._deliver(letter)
            except BrokenError:
                self._uncertain = True
                return
            except RefusedError as error:
                if error.code == "BUSY":  # what was written before a crash still waits there
                    await asyncio.sleep(0.05)
                    continue
                log.info("%s does not read any more: %s", self.id, error)
                await persist(lambda: self.step(lambda step: step.deafen()), f"what {self.id} was told")
                continue
            await self._note_delivered(letter["n"])
        self._uncertain = self._uncertain and bool(self.exchange.outbox)

    async def _note_delivered(self, number: int) -> None:
        def make(step: AcpStep) -> None:
            step.exchange.outbox = [letter for letter in step.exchange.outbox if letter["n"] != number]

        await persist(lambda: self.step(make), f"what {self.id} was told")

    async def _deliver(self, letter: dict[str, Any]) -> None:
        line = self.live.line
        assert line is not None
        data = json.dumps(letter["message"]).encode() + b"\n"
        for number in range(0, len(data), _PIECE):
            key = f"acp/{self.id}/{letter['n']}/{number // _PIECE}"
            # A shim knows what it wrote; one that took over from a lost one does not, but the log does.
            if self._uncertain and await self.reading.typed_at(self.live.session, key) is not None:
                continue
            await line.type(data[number : number + _PIECE], "lamplighter", key)

    # -- what it comes to

    @property
    def position(self) -> int:
        """How far the output was read."""
        return self._position

    def close(self) -> None:
        self._reader.close()
