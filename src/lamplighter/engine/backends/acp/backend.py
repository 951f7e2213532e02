"""Sessions that speak the Agent Client Protocol over pipes: begun and gone on with, prompted, cancelled, waited for, closed.

Knows sessions; the protocol is `step`'s. The SDK, which is large, is loaded for the first session that needs it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamplighter.domain.approval import Approval
from lamplighter.domain.memory.exchange import Exchange, Phase
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.states import Running, Starting
from lamplighter.domain.text.echo import Echo
from lamplighter.domain.verdict import Verdict
from lamplighter.engine.backends.acp.transcript import AcpTranscript, tail
from lamplighter.engine.backends.base import BackendContext, Reply
from lamplighter.engine.backends.held import HeadlessBackend
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.registry import LiveSession
from lamplighter.engine.core.tasks import first_of, persist, until
from lamplighter.engine.output.output_reader import past_the_end
from lamplighter.errors import Code, ConflictError, Hint, InputError, LampError, Use
from lamplighter.store import exchanges

if TYPE_CHECKING:
    from lamplighter.engine.backends.acp.peer import AcpPeer

log = logging.getLogger(__name__)
_CANCEL_SECONDS = 0.7
_CLOSE_SECONDS = 0.7
_LEAVE_SECONDS = 5.0
_SETTLE_SECONDS = 0.5
_LINES = 50
_TURNS = {"end_turn": "done", "cancelled": "interrupted", "ended": "ended"}
"""How a turn ended, in the words of whoever waits for replies; else it failed."""


CANCEL = frozenset({"escape", "esc", "c-c", "^c", "c-["})
"""Keys that stop an agent's turn in its own terminal: here they cancel it."""


class AcpBackend(HeadlessBackend):
    """Bytes go in whole messages alone: what is sent is a prompt, which a message carries."""

    says_itself = True
    one_conversation = False
    echo = Echo.QUOTED

    def __init__(self, context: BackendContext) -> None:
        super().__init__(context)
        self.context = context
        self.tasks = context.tasks
        self._partners: dict[str, AcpPeer] = {}
        self._loading: dict[str, asyncio.Task[AcpPeer]] = {}
        self._going: dict[str, asyncio.Task[None]] = {}

    # -- going on

    def connected(self, live: LiveSession) -> None:
        if live.session.id not in self._going:
            self._going[live.session.id] = self.tasks.begin(self._go_on(live), f"talk with {live.session.id}")

    async def _go_on(self, live: LiveSession) -> None:
        while isinstance(live.session.state, Starting) and not live.ended.is_set():
            await first_of(live.changed, live.ended)
        if live.session.id not in self.registry.live_sessions:
            return
        acp_peer = await self._acp_peer(live)
        await acp_peer.decide_open()
        await asyncio.gather(self._listen(acp_peer), self._speak(acp_peer))

    async def _listen(self, acp_peer: AcpPeer) -> None:
        live = acp_peer.live
        while not live.ended.is_set():
            output, changed = live.output, live.changed
            await acp_peer.take_in()
            await self._name(acp_peer)
            if live.line is not None:
                live.line.tell("arm", cursor=acp_peer.position)
            if acp_peer.exchange.phase is not Phase.SETTLING:
                await first_of(output, changed, live.ended)
            elif not await until(output, _SETTLE_SECONDS):
                await persist(lambda: acp_peer.step(lambda step: step.settle()), f"the talk with {acp_peer.id}")

    async def _speak(self, acp_peer: AcpPeer) -> None:
        live = acp_peer.live
        while not live.ended.is_set():
            changed = live.changed
            acp_peer.wake.clear()
            await acp_peer.put_out()
            if acp_peer.exchange.done and isinstance(live.session.state, Running):
                await self._retire(acp_peer)
                return
            await first_of(acp_peer.wake, changed, live.ended)

    async def _name(self, acp_peer: AcpPeer) -> None:
        """What the agent calls the conversation is what others may call the session."""
        conversation = acp_peer.exchange.conversation
        if conversation is not None and acp_peer.live.session.conversation.get("id") != conversation:
            for listener in self.context.listeners:
                entered = partial(listener.entered, acp_peer.id, conversation)
                await persist(entered, f"the conversation of {acp_peer.id}")

    async def _acp_peer(self, live: LiveSession) -> AcpPeer:
        """The talk with it, from where it stands; the same for everybody who asks."""
        name = live.session.id
        if name not in self._loading:
            self._loading[name] = self.tasks.begin(self._load(live), f"load the talk with {name}")
        return await asyncio.shield(self._loading[name])

    async def _load(self, live: LiveSession) -> AcpPeer:
        module = await asyncio.to_thread(import_module, "lamplighter.engine.backends.acp.peer")
        session = live.session
        found = await self.registry.store.get(lambda db: exchanges.get(db, session.id))
        acp_peer: AcpPeer = module.AcpPeer(self.registry, self.reading, live, found or Exchange(cwd=session.cwd))
        await asyncio.to_thread(acp_peer.journal.cut, acp_peer.exchange.size)
        if acp_peer.exchange.phase is Phase.NEW:
            await persist(lambda: acp_peer.step(lambda step: step.begin()), f"the talk with {session.id}")
        self._partners[session.id] = acp_peer
        return acp_peer

    # -- saying

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        """A prompt's bytes; of keys, none: they cancel."""
        del enter
        if not keys:
            return text.encode(errors="surrogateescape")
        if all(key.lower() in CANCEL for key in text.split()) and text.split():
            return b""
        raise InputError(
            Code.BAD_INPUT,
            "a session that speaks ACP has no keyboard: Escape or C-c cancels its turn, other keys mean nothing",
            Hint("send a prompt as text; or ", Use("send", session="SESSION", text="Escape", keys=True), " to cancel"),
        )

    async def prompt(self, session: Session, text: str, *, keys: bool, by: Caller, key: str) -> dict[str, Any]:
        """Taken once however often it is asked for with the same key; with keys: the turn is cancelled."""
        data = self.encode(text, keys=keys, enter=True)
        text = data.decode(errors="replace")
        live = self.registry.live_sessions.get(session.id)
        if live is None:
            return await self._sent_before(session, len(data), key)
        acp_peer = await self._acp_peer(live)
        if keys:
            await acp_peer.step(lambda step: step.cancel(by.name))
        elif key not in acp_peer.exchange.taken:
            _check_prompt(session, acp_peer.exchange, text)
            await acp_peer.step(lambda step: step.prompt(text, by.name, key))
        cursor = acp_peer.exchange.taken.get(key, acp_peer.exchange.size)
        live.last_sent = cursor
        await self.registry.note(session.id, by, "send", size=len(data), keys=keys)
        return {"id": session.id, "size": len(data), "cursor": cursor}

    async def _sent_before(self, session: Session, size: int, key: str) -> dict[str, Any]:
        found = await self.registry.store.get(lambda db: exchanges.get(db, session.id))
        if found is not None and key in found.taken:
            return {"id": session.id, "size": size, "cursor": found.taken[key]}
        raise _ended(session)

    async def decided(self, approval: Approval) -> None:
        live = self.registry.live_sessions.get(approval.session)
        if live is not None:
            await (await self._acp_peer(live)).decide(approval)

    # -- reading

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """The conversation as text. A cursor is a place in its file."""
        if mode == "cast":
            async for page in super().read(session, mode, lines, since, limit, follow):
                yield page
            return
        journal = AcpTranscript(self.registry.folder(session.id))
        if since is None and (lines is not None or mode != "output"):
            text = await asyncio.to_thread(tail, self.registry.folder(session.id), lines or _LINES)
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
            living = more or await self._said_more(session, cursor)
            text, cursor, more = await asyncio.to_thread(journal.page, cursor, limit)
            if text:
                yield _page(session, mode, text, cursor, more)
            if not living and not more:
                return

    def _size(self, session: Session, journal: AcpTranscript) -> int:
        acp_peer = self._partners.get(session.id)
        return acp_peer.exchange.size if acp_peer else journal.size()

    async def _said_more(self, session: Session, cursor: int) -> bool:
        """Wait until the conversation goes on past the cursor; False when the session has ended instead."""
        while (live := self.registry.live_sessions.get(session.id)) is not None and not live.ended.is_set():
            acp_peer = await self._acp_peer(live)
            moved = acp_peer.moved
            if acp_peer.exchange.size > cursor:
                return True
            await first_of(moved, live.ended)
        return False

    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        del read_only, wish
        self.living(session)
        raise ConflictError(
            Code.NOT_ATTACHABLE,
            f"{session.name} ({session.id}) speaks ACP: it has no terminal to be at",
            Hint(
                Use("read", session=session.id, follow=True),
                " shows the conversation, ",
                Use("send", session=session.id),
                " says something in it",
            ),
        )

    async def last_lines(self, session: Session, most: int) -> list[str]:
        if session.shim is None:
            return []
        return tail(self.registry.folder(session.id), most).splitlines()

    def transcript(self, session: Session) -> str:
        return AcpTranscript(self.registry.folder(session.id)).path

    # -- waiting

    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        """In what was said since the last prompt, unless a cursor is given; the cursor behind it."""
        cursor = self._asked_at(session) if since is None else since
        journal, kept = AcpTranscript(self.registry.folder(session.id)), ""
        while True:
            page = await asyncio.to_thread(journal.page, cursor, 1 << 20)
            if text in kept + page.text:
                return page.cursor
            kept, cursor = (kept + page.text)[-len(text) :], page.cursor
            if not page.more and not await self._said_more(session, cursor):
                page = await asyncio.to_thread(journal.page, cursor, 1 << 20)
                if text in kept + page.text:
                    return page.cursor
                raise _ended(session, "before it said that")

    async def until_reply(self, session: Session) -> int:
        """Until every prompt has its answer."""
        while (live := self.registry.live_sessions.get(session.id)) is not None and not live.ended.is_set():
            acp_peer = await self._acp_peer(live)
            moved, exchange = acp_peer.moved, acp_peer.exchange
            if exchange.phase is Phase.REFUSED:
                raise _refused(session, exchange)
            if exchange.phase is Phase.READY and not exchange.busy and exchange.turns:
                return exchange.size
            await first_of(moved, live.ended)
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
        journal = AcpTranscript(self.registry.folder(session.id))
        text, reason = await asyncio.to_thread(journal.last_answer, self._size(session, journal))
        turn = "ended" if reason is None else _TURNS.get(reason, "failed")
        if ended is not None and turn == "ended" and not text:
            raise ended
        return Reply(text, turn, "transcript")

    def _asked_at(self, session: Session) -> int:
        acp_peer = self._partners.get(session.id)
        return next(reversed(acp_peer.exchange.taken.values()), 0) if acp_peer else 0

    # -- ending

    async def ask_to_end(self, live: LiveSession) -> bool:
        """Cancel what runs, close where the agent has a word for that, end its input. False when it is known not to heed the end
        of its input, so that nobody waits for it."""
        acp_peer = await self._acp_peer(live)
        if await acp_peer.step(lambda step: step.cancel("lamplighter")):
            await self._within(acp_peer, lambda: acp_peer.exchange.turn is None, _CANCEL_SECONDS)
        number = await acp_peer.step(lambda step: step.close())
        if number is not None:
            await self._within(acp_peer, lambda: number not in acp_peer.exchange.calls, _CLOSE_SECONDS)
        await self._within(acp_peer, lambda: not acp_peer.exchange.outbox, _CANCEL_SECONDS)
        if live.line is not None:
            with suppress(RefusedError):
                await super().ask_to_end(live)
        return bool(live.session.facts.talk.get("heeds_eof", True))

    async def _within(self, acp_peer: AcpPeer, met: Any, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not met() and not acp_peer.live.ended.is_set():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await until(acp_peer.moved, left):
                return

    async def last_words(self, live: LiveSession) -> None:
        """Taken in; nothing waits for an answer any more."""
        try:
            acp_peer = await self._acp_peer(live)
            await acp_peer.take_in()
            await self._name(acp_peer)
            await persist(lambda: acp_peer.step(lambda step: step.end()), f"the end of the talk with {live.session.id}")
        except (LampError, OSError):
            log.exception("%s: its conversation may lack its end", live.session.id)
        self._partners.pop(live.session.id, None)
        self._loading.pop(live.session.id, None)
        self._going.pop(live.session.id, None)

    async def _retire(self, acp_peer: AcpPeer) -> None:
        """One that was there for its task alone, and has done it: told to leave, and ended when it does not."""
        live = acp_peer.live
        number = await persist(lambda: acp_peer.step(lambda step: step.close()), f"the end of {acp_peer.id}")
        if number is not None:
            await acp_peer.put_out()
            await self._within(acp_peer, lambda: number not in acp_peer.exchange.calls, _CLOSE_SECONDS)
        with suppress(LampError, RefusedError):
            if live.line is not None:
                await super().ask_to_end(live)
        leaves = bool(live.session.facts.talk.get("heeds_eof", True))
        if not leaves or not await until(live.ended, _LEAVE_SECONDS):
            for listener in self.context.listeners:
                await listener.done(live.session)

    # -- what it is doing

    def own_verdict(self, session: Session) -> tuple[Verdict, str] | None:
        """None before it is known."""
        acp_peer = self._partners.get(session.id)
        if acp_peer is None:
            return None
        exchange = acp_peer.exchange
        if exchange.phase is Phase.REFUSED:
            return Verdict.STUCK, f"the agent does not begin: {exchange.refused}"
        if exchange.asked:
            asked = next(iter(exchange.asked.values()))
            more = f", and for {len(exchange.asked) - 1} more" if len(exchange.asked) > 1 else ""
            what = "" if self.registry.settings.reads_own else f": {asked['title']}"
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
        Hint(Use("read"), " and ", Use("show"), " say more; end it, put that right and start it again"),
    )


def _ended(session: Session, why: str = "") -> ConflictError:
    return ConflictError(
        Code.ENDED,
        f"{session.name} ({session.id}) has ended{' ' + why if why else ''}",
        Hint(Use("read"), " shows what was said, ", Use("show"), " how it ended"),
    )
