"""The talks with all agents that speak ACP: begun and gone on with, prompted, cancelled, waited for, closed.

Knows sessions; the protocol is `step`'s. The SDK, which is large, is loaded for the first session that needs it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamplighter.domain.approval import Approval
from lamplighter.domain.exchange import Exchange, Phase
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.states import State
from lamplighter.domain.verdict import Verdict
from lamplighter.drivers import driver_for
from lamplighter.errors import Code, ConflictError, InputError, LampError
from lamplighter.lifecycle.acp.journal import Journal, tail
from lamplighter.lifecycle.dialogue.conversations import Conversations
from lamplighter.lifecycle.dialogue.replies import Reply
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.persistence import persist
from lamplighter.lifecycle.talk.reading import Reading, past_the_end
from lamplighter.lifecycle.talk.speech import first_of
from lamplighter.lifecycle.tasks import Tasks, until
from lamplighter.line import RefusedError
from lamplighter.store import exchanges

if TYPE_CHECKING:
    from lamplighter.lifecycle.acp.partner import Partner

log = logging.getLogger(__name__)
_CANCEL_SECONDS = 0.7
_CLOSE_SECONDS = 0.7
_LEAVE_SECONDS = 5.0
_SETTLE_SECONDS = 0.5
_LINES = 50
_TURNS = {"end_turn": "done", "cancelled": "interrupted", "ended": "ended"}
"""How a turn ended, in the words of whoever waits for replies; else it failed."""


class Talks:
    def __init__(self, fleet: Fleet, reading: Reading, tasks: Tasks, conversations: Conversations) -> None:
        self.fleet = fleet
        self.reading = reading
        self.tasks = tasks
        self.conversations = conversations
        self._partners: dict[str, Partner] = {}
        self._loading: dict[str, asyncio.Task[Partner]] = {}
        self._going: dict[str, asyncio.Task[None]] = {}
        self.retire: Callable[[Session], Awaitable[Any]] | None = None

    # -- going on

    def watch(self, lamp: Lamp) -> None:
        """A session has a line to its shim, for the first time or again."""
        if lamp.session.driver is Driver.ACP and lamp.session.id not in self._going:
            self._going[lamp.session.id] = self.tasks.begin(self._go_on(lamp), f"talk with {lamp.session.id}")

    async def _go_on(self, lamp: Lamp) -> None:
        while lamp.session.state is State.STARTING and not lamp.ended.is_set():
            await first_of(lamp.changed, lamp.ended)
        if lamp.session.id not in self.fleet.lamps:
            return
        partner = await self._partner(lamp)
        await partner.decide_open()
        await asyncio.gather(self._listen(partner), self._speak(partner))

    async def _listen(self, partner: Partner) -> None:
        lamp = partner.lamp
        while not lamp.ended.is_set():
            output, changed = lamp.output, lamp.changed
            await partner.take_in()
            await self._name(partner)
            if lamp.line is not None:
                lamp.line.tell("arm", cursor=partner.position)
            if partner.exchange.phase is not Phase.SETTLING:
                await first_of(output, changed, lamp.ended)
            elif not await until(output, _SETTLE_SECONDS):
                await persist(lambda: partner.step(lambda step: step.settle()), f"the talk with {partner.id}")

    async def _speak(self, partner: Partner) -> None:
        lamp = partner.lamp
        while not lamp.ended.is_set():
            changed = lamp.changed
            partner.wake.clear()
            await partner.put_out()
            if partner.exchange.done and lamp.session.state is State.RUNNING:
                await self._retire(partner)
                return
            await first_of(partner.wake, changed, lamp.ended)

    async def _name(self, partner: Partner) -> None:
        """What the agent calls the conversation is what others may call the session."""
        conversation = partner.exchange.conversation
        if conversation is not None and partner.lamp.session.conversation.get("id") != conversation:
            await persist(
                lambda: self.conversations.enter(partner.id, conversation, why="begun"),
                f"the conversation of {partner.id}",
            )

    async def _partner(self, lamp: Lamp) -> Partner:
        """The talk with it, from where it stands; the same for everybody who asks."""
        name = lamp.session.id
        if name not in self._loading:
            self._loading[name] = self.tasks.begin(self._load(lamp), f"load the talk with {name}")
        return await asyncio.shield(self._loading[name])

    async def _load(self, lamp: Lamp) -> Partner:
        module = await asyncio.to_thread(import_module, "lamplighter.lifecycle.acp.partner")
        session = lamp.session
        found = await self.fleet.store.get(lambda db: exchanges.get(db, session.id))
        partner: Partner = module.Partner(self.fleet, self.reading, lamp, found or Exchange(cwd=session.cwd))
        await asyncio.to_thread(partner.journal.cut, partner.exchange.size)
        if partner.exchange.phase is Phase.NEW:
            await persist(lambda: partner.step(lambda step: step.begin()), f"the talk with {session.id}")
        self._partners[session.id] = partner
        return partner

    # -- saying

    async def send(self, session: Session, text: str, *, keys: bool, by: Caller, key: str) -> dict[str, Any]:
        """A prompt, taken once however often it is asked for with the same key; with keys: the turn is cancelled."""
        data = driver_for(Driver.ACP).encode(text, keys=keys, enter=True)
        text = data.decode(errors="replace")
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None:
            return await self._sent_before(session, len(data), key)
        partner = await self._partner(lamp)
        if keys:
            await partner.step(lambda step: step.cancel(by.name))
        elif key not in partner.exchange.taken:
            _check_prompt(session, partner.exchange, text)
            await partner.step(lambda step: step.prompt(text, by.name, key))
        cursor = partner.exchange.taken.get(key, partner.exchange.size)
        lamp.last_sent = cursor
        await self.fleet.note(session.id, by, "send", size=len(data), keys=keys)
        return {"id": session.id, "size": len(data), "cursor": cursor}

    async def _sent_before(self, session: Session, size: int, key: str) -> dict[str, Any]:
        found = await self.fleet.store.get(lambda db: exchanges.get(db, session.id))
        if found is not None and key in found.taken:
            return {"id": session.id, "size": size, "cursor": found.taken[key]}
        raise _ended(session)

    async def decided(self, approval: Approval) -> None:
        """The operator's word on what an agent asks for."""
        lamp = self.fleet.lamps.get(approval.session)
        if lamp is not None and lamp.session.driver is Driver.ACP:
            await (await self._partner(lamp)).decide(approval)

    # -- reading

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """The conversation as text. A cursor is a place in its file."""
        journal = Journal(self.fleet.folder(session.id))
        if since is None and (lines is not None or mode != "output"):
            text = await asyncio.to_thread(tail, self.fleet.folder(session.id), lines or _LINES)
            cursor, more = self._size(session, journal), False
        else:
            text, cursor, more = await asyncio.to_thread(journal.page, since or 0, limit)
            end = self._size(session, journal)
            if since is not None and since > end:
                raise past_the_end(session, since, end)
            if lines is not None:
                text = "".join(text.splitlines(keepends=True)[-lines:])
        yield _page(session, mode, text, cursor, more)
        while follow:
            living = more or await self._more(session, cursor)
            text, cursor, more = await asyncio.to_thread(journal.page, cursor, limit)
            if text:
                yield _page(session, mode, text, cursor, more)
            if not living and not more:
                return

    def _size(self, session: Session, journal: Journal) -> int:
        partner = self._partners.get(session.id)
        return partner.exchange.size if partner else journal.size()

    async def _more(self, session: Session, cursor: int) -> bool:
        """Wait until the conversation goes on past the cursor; False when the session has ended instead."""
        while (lamp := self.fleet.lamps.get(session.id)) is not None and not lamp.ended.is_set():
            partner = await self._partner(lamp)
            moved = partner.moved
            if partner.exchange.size > cursor:
                return True
            await first_of(moved, lamp.ended)
        return False

    # -- waiting

    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        """In what was said since the last prompt, unless a cursor is given; the cursor behind it."""
        cursor = self._asked_at(session) if since is None else since
        journal, kept = Journal(self.fleet.folder(session.id)), ""
        while True:
            page = await asyncio.to_thread(journal.page, cursor, 1 << 20)
            if text in kept + page.text:
                return page.cursor
            kept, cursor = (kept + page.text)[-len(text) :], page.cursor
            if not page.more and not await self._more(session, cursor):
                page = await asyncio.to_thread(journal.page, cursor, 1 << 20)
                if text in kept + page.text:
                    return page.cursor
                raise _ended(session, "before it said that")

    async def until_reply(self, session: Session) -> int:
        """Until every prompt has its answer."""
        while (lamp := self.fleet.lamps.get(session.id)) is not None and not lamp.ended.is_set():
            partner = await self._partner(lamp)
            moved, exchange = partner.moved, partner.exchange
            if exchange.phase is Phase.REFUSED:
                raise _refused(session, exchange)
            if exchange.phase is Phase.READY and not exchange.busy and exchange.turns:
                return exchange.size
            await first_of(moved, lamp.ended)
        raise _ended(session, "before it had answered")

    async def reply(self, session: Session) -> Reply:
        """The agent's last answer, once it is given; also of one that ended since."""
        try:
            await self.until_reply(session)
        except ConflictError as error:
            if error.code is not Code.ENDED:
                raise
            ended: ConflictError | None = error
        else:
            ended = None
        journal = Journal(self.fleet.folder(session.id))
        text, reason = await asyncio.to_thread(journal.last_answer, 0, self._size(session, journal))
        turn = "ended" if reason is None else _TURNS.get(reason, "failed")
        if ended is not None and turn == "ended" and not text:
            raise ended
        return Reply(text, turn, "transcript")

    def _asked_at(self, session: Session) -> int:
        partner = self._partners.get(session.id)
        return next(reversed(partner.exchange.taken.values()), 0) if partner else 0

    # -- ending

    async def close(self, lamp: Lamp) -> bool:
        """Cancel what runs, close where the agent has a word for that, end its input. False when it is known not to heed the end
        of its input, so that nobody waits for it."""
        partner = await self._partner(lamp)
        if await partner.step(lambda step: step.cancel("lamplighter")):
            await self._within(partner, lambda: partner.exchange.turn is None, _CANCEL_SECONDS)
        number = await partner.step(lambda step: step.close())
        if number is not None:
            await self._within(partner, lambda: number not in partner.exchange.calls, _CLOSE_SECONDS)
        await self._within(partner, lambda: not partner.exchange.outbox, _CANCEL_SECONDS)
        if lamp.line is not None:
            with suppress(RefusedError):
                await driver_for(Driver.ACP).ask_to_stop(lamp.line, lamp.session.place)
        return bool(lamp.session.talk.get("heeds_eof", True))

    async def _within(self, partner: Partner, met: Any, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not met() and not partner.lamp.ended.is_set():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await until(partner.moved, left):
                return

    async def end(self, lamp: Lamp) -> None:
        """The agent is gone: take in what it said last. Nothing waits for an answer any more."""
        try:
            partner = await self._partner(lamp)
            await partner.take_in()
            await self._name(partner)
            await persist(lambda: partner.step(lambda step: step.end()), f"the end of the talk with {lamp.session.id}")
        except (LampError, OSError):
            log.exception("%s: its conversation may lack its end", lamp.session.id)
        self._partners.pop(lamp.session.id, None)
        self._loading.pop(lamp.session.id, None)
        self._going.pop(lamp.session.id, None)

    async def forget_old(self) -> None:
        await self.fleet.store.write(exchanges.forget_ended)

    async def _retire(self, partner: Partner) -> None:
        """One that was there for its task alone, and has done it: told to leave, and ended when it does not."""
        lamp = partner.lamp
        number = await persist(lambda: partner.step(lambda step: step.close()), f"the end of {partner.id}")
        if number is not None:
            await partner.put_out()
            await self._within(partner, lambda: number not in partner.exchange.calls, _CLOSE_SECONDS)
        with suppress(LampError, RefusedError):
            if lamp.line is not None:
                await driver_for(Driver.ACP).ask_to_stop(lamp.line, lamp.session.place)
        leaves = bool(lamp.session.talk.get("heeds_eof", True))
        if (not leaves or not await until(lamp.ended, _LEAVE_SECONDS)) and self.retire is not None:
            await self.retire(lamp.session)

    # -- what it is doing

    def standing(self, session: Session) -> tuple[Verdict, str] | None:
        """As the agent itself has told; None before it is known."""
        partner = self._partners.get(session.id)
        if partner is None:
            return None
        exchange = partner.exchange
        if exchange.phase is Phase.REFUSED:
            return Verdict.STUCK, f"the agent does not begin: {exchange.refused}"
        if exchange.asked:
            asked = next(iter(exchange.asked.values()))
            more = f", and for {len(exchange.asked) - 1} more" if len(exchange.asked) > 1 else ""
            what = "" if self.fleet.settings.reads_own else f": {asked['title']}"
            return Verdict.WAITING, f"asks for permission{what}{more}; lamp approve {asked['approval']}"
        if exchange.turn is not None:
            return Verdict.WORKING, "a turn runs" + (", to be cancelled" if exchange.turn.get("cancelled") else "")
        if exchange.phase is not Phase.READY:
            return None if exchange.phase is Phase.CLOSED else (Verdict.WORKING, "the talk with it begins")
        said = f"; the last turn ended: {exchange.stopped}" if exchange.stopped else ""
        return Verdict.IDLE, f"waits for a prompt{said}"


def _page(session: Session, mode: str, text: str, cursor: int, more: bool) -> dict[str, Any]:
    return {"id": session.id, "mode": mode, "text": text, "cursor": cursor, "more": more, "lost": 0}


def _check_prompt(session: Session, exchange: Exchange, text: str) -> None:
    if exchange.phase is Phase.REFUSED:
        raise _refused(session, exchange)
    if exchange.phase is Phase.CLOSED:
        raise _ended(session, "for new prompts: it is being ended")
    if not text.strip():
        raise InputError(Code.BAD_INPUT, "an empty prompt asks for nothing", "send what the agent is to do")


def _refused(session: Session, exchange: Exchange) -> ConflictError:
    return ConflictError(
        Code.NOT_ACTIVE,
        f"{session.name} ({session.id}) does not talk: {exchange.refused}",
        "lamp read and lamp show say more; end it, put that right and start it again",
    )


def _ended(session: Session, why: str = "") -> ConflictError:
    return ConflictError(
        Code.ENDED,
        f"{session.name} ({session.id}) has ended{' ' + why if why else ''}",
        "lamp read shows what was said, lamp show how it ended",
    )
