"""The living sessions: each as the store has it, with the line to its shim. Every change goes through the store first.

Knows what is alive and how to find it; knows nothing of who may do what.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any, TypeVar

from lamplighter.clock import Clock
from lamplighter.domain.ending import Certificate
from lamplighter.domain.lease import Moment
from lamplighter.domain.memory.record import Ids
from lamplighter.domain.name import make_id
from lamplighter.domain.permission import DAEMON, Caller
from lamplighter.domain.session import Session
from lamplighter.engine.core.holder_client import HolderClient
from lamplighter.engine.core.session_card import keep_changed_card
from lamplighter.engine.core.tasks import first_of
from lamplighter.errors import Code, Hint, MissingError, UnavailableError, Use
from lamplighter.holder import proc
from lamplighter.holder.meter import MeterReading, read_meter, unpack_reading
from lamplighter.lazy_dataclass import dataclass
from lamplighter.settings import Settings
from lamplighter.store import events, handoffs, sessions
from lamplighter.store.database import Database
from lamplighter.store.events import Event

T = TypeVar("T")
log = logging.getLogger(__name__)
# Steps towards an end: they are never refused for want of room, as what is to end may be what fills the disk.
_ENDINGS = frozenset(
    {
        "end",
        "kill",
        "asked",
        "ended",
        "exited",
        "holder lost",
        "keeper lost",
        "warning",
        "warning withdrawn",
        "down",
        "shared daemon",
    }
)
_FAR_AHEAD = 5 * 366 * 86400.0  # an id of then came from elsewhere, or from a clock that was very wrong


@dataclass
class LiveSession:
    """One living session."""

    session: Session
    line: HolderClient | None = None
    phase: str = "running"
    guarantee: str = "tree"
    certificate: dict[str, Any] | None = None
    helped: asyncio.Future[Certificate] | None = None  # what the daemon had to end for its holder
    last_sent: int | None = None
    asked: tuple[float, str] | None = (
        None  # when a text was last sent, just before it was; and the text, in memory alone
    )
    watchers: int = 0  # people who are at it by other ways than ours: a client of tmux
    meter: mmap.mmap | None = None
    roots: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])  # of one without a holder
    below: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])  # what looks have seen under its holder
    panes: set[str] = field(default_factory=set[str])  # in tmux, of one without a holder
    seen: MeterReading | None = None  # in place of a meter
    without_repair: bool = False  # its shim does not know how to make its files again
    unreachable: bool = False  # its shim lives, and nobody can speak to it
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    output: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def reading(self, path: str) -> MeterReading | None:
        """What its meter says, mapped once and then read from memory."""
        if self.seen is not None:
            return self.seen
        if self.meter is None:
            try:
                with open(path, "rb") as file:
                    self.meter = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            except (OSError, ValueError):
                return read_meter(path)
        return unpack_reading(self.meter)

    def notify(self) -> None:
        """Wake whoever waits for a change of phase or state."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def more(self, cursor: int) -> bool:
        """Wait until there is output past the cursor; False when the session has ended instead."""
        pulse = self.output
        if self.line is not None:
            self.line.tell("arm", cursor=cursor)
        await first_of(pulse, self.ended, self.changed)
        return not self.ended.is_set()


class SessionRegistry:
    def __init__(self, settings: Settings, store: Database, clock: Clock) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.live_sessions: dict[str, LiveSession] = {}
        self.names: dict[str, str] = {}
        self.boot = proc.boot_id()
        self.last_id = ""
        self.last_numbers: dict[str, int] = {}  # behind a name that more than one has had
        self.ids = Ids()
        self.holders_lost: dict[str, tuple[int, tuple[int, int] | None]] = {}
        self.news = asyncio.Event()
        self.lookers: list[Callable[[float], Awaitable[None]]] = []  # each brings up to date what it watches

    def moment(self) -> Moment:
        """Now, as leases count."""
        return Moment(self.clock.now(), self.clock.monotonic(), self.boot)

    async def look(self, fresh: float) -> None:
        """Have all that is watched from here not be older than this many seconds."""
        for looker in self.lookers:
            await looker(fresh)

    def attached(self, session: str) -> int:
        """People who are at a living session, whichever way they came."""
        live, meter = self.live_sessions.get(session), self.reading(session)
        return (meter.attached if meter else 0) + live.watchers if live else 0

    async def load(self) -> None:
        """What the store says is alive."""
        for session in await self.store.read(sessions.living):
            self.add(LiveSession(session))
        self.last_id = await self.store.read(sessions.last_id)
        ahead = make_id(self.clock.now() + _FAR_AHEAD, "")
        for newest in await self.store.read(lambda db: handoffs.newest_ids(db, ahead)):
            self.ids.go_on(newest)
        for session in await self.store.read(lambda db: sessions.holders_lost(db, self.boot)):
            self.keep_lost(session)

    def keep_lost(self, session: Session) -> None:
        """Remember until the next boot, also once it has ended, that its shim was lost, and who adopted what that left."""
        if session.main is not None and not session.facts.cgroup:
            self.holders_lost[session.id] = (session.main.start, session.facts.adopter)

    def add(self, live: LiveSession) -> None:
        self.live_sessions[live.session.id] = live
        self.names[live.session.name] = live.session.id

    def remove(self, session: str) -> None:
        live = self.live_sessions.pop(session, None)
        if live is None:
            return
        if self.names.get(live.session.name) == session:
            del self.names[live.session.name]
        if live.line is not None:
            live.line.close()
        if live.meter is not None:
            live.meter.close()

    # -- changing

    async def change(
        self,
        session: str,
        by: Caller,
        action: str,
        become: Callable[[Session], Session | None],
        also: Callable[[sqlite3.Connection], Any] | None = None,
        **detail: Any,
    ) -> Session | None:
        """Save what the session becomes and its event in one transaction, with `also` in it; then it is so. One change of a
        session at a time.

        None when it is not alive any more, or when `become` says that there is nothing to change.
        """
        live = self.live_sessions.get(session)
        if live is None:
            return None
        async with live.lock:
            changed = become(live.session) if live.session.alive else None
            if changed is None:
                return None

            def write(db: sqlite3.Connection) -> Event:
                sessions.update(db, live.session, changed)
                if also is not None:
                    also(db)
                return events.append(db, self.clock.now(), session, by.name, action, **detail)

            await self.store.write(write, must=action in _ENDINGS)
            keep_changed_card(self.folder(session), live.session, changed)
            live.session = changed
        self.announce()
        live.notify()
        return changed

    async def note_asking(self, live: LiveSession) -> bool:
        """Write down that the session is about to be asked to leave; False when it was before, by a daemon that died since."""
        at, on = self.clock.now(), self.clock.monotonic()
        return await self.change(live.session.id, DAEMON, "asked", lambda session: session.asked(at, on)) is not None

    async def write(self, change: Callable[[sqlite3.Connection], T], *, must: bool = False) -> T:
        """A transaction that leaves an event, and whoever follows events hears of it."""
        result = await self.store.write(change, must=must)
        self.announce()
        return result

    async def note(self, session: str | None, by: Caller, action: str, **detail: Any) -> None:
        """An event without a change of the session itself."""
        now = self.clock.now()
        must = action in _ENDINGS
        await self.write(lambda db: events.append(db, now, session, by.name, action, **detail), must=must)

    async def note_if_possible(self, session: str | None, by: Caller, action: str, **detail: Any) -> None:
        """An event of something that must not wait for room on the disk."""
        try:
            await self.note(session, by, action, **detail)
        except UnavailableError as error:
            log.error("the event %s of %s by %s is not kept: %s", action, session, by.name, error)

    def announce(self) -> None:
        """There is a new event: wake whoever follows them."""
        self.news.set()
        self.news = asyncio.Event()

    # -- finding

    async def find(self, word: str) -> Session:
        """By id, name of a living one, unique beginning of an id, or name of an ended one, in this order."""
        live = self.live_sessions.get(word) or self.live_sessions.get(self.names.get(word, ""))
        if live is not None:
            return live.session
        if word and all(character in "0123456789abcdefghjkmnpqrstvwxyz" for character in word):
            found = await self.store.get(lambda db: sessions.by_prefix(db, word))
            if len(found) == 1:
                return self._current(found[0])
            if len(found) > 1:
                raise _ambiguous(word, found)
        named = await self.store.get(lambda db: sessions.ended_named(db, word))
        if named is not None:
            return named
        raise MissingError(
            Code.NOT_FOUND,
            f"there is no session {word[:60]!a}",
            Hint(Use("ls", all=True), " lists those that there are and were"),
        )

    async def get(self, identifier: str) -> Session | None:
        """By its whole id, living or ended; None when there is none."""
        live = self.live_sessions.get(identifier)
        return live.session if live else await self.store.get(lambda db: sessions.get(db, identifier))

    async def by_id(self, identifier: str) -> Session:
        """By its whole id alone, for what a row names: somebody's living session may be called as another's id reads."""
        found = await self.get(identifier)
        if found is None:
            raise MissingError(
                Code.NOT_FOUND, f"there is no session {identifier!a} any more", Hint(Use("ls", all=True), " lists all")
            )
        return found

    def _current(self, session: Session) -> Session:
        live = self.live_sessions.get(session.id)
        return live.session if live else session

    async def now(self, session: Session) -> Session:
        """The session as it is by now."""
        return await self.get(session.id) or session

    def shims(self) -> dict[tuple[int, int], str]:
        """The processes that hold living sessions, each with its session's id."""
        held = [live.session for live in list(self.live_sessions.values())]  # a thread asks too
        return {(session.shim.pid, session.shim.start): session.id for session in held if session.shim is not None}

    def children(self, session: str) -> list[str]:
        return [live.session.id for live in self.live_sessions.values() if live.session.parent == session]

    def folder(self, session: str) -> str:
        return self.settings.home.session_folder(session)

    def reading(self, session: str) -> MeterReading | None:
        path = f"{self.folder(session)}/meter"
        live = self.live_sessions.get(session)
        return live.reading(path) if live else read_meter(path)


def _ambiguous(word: str, found: list[Session]) -> MissingError:
    shown = ", ".join(f"{session.id} ({session.name})" for session in found[:5])
    return MissingError(Code.AMBIGUOUS, f"{word} begins more than one id: {shown}", "give more of the id, or the name")
