"""What an agent answered to what was sent to it last.

From its transcript, where the turn that began with it is over; else from its output since, once it is at rest. What was there
before the input is never the answer to it. Knows turns and outputs; knows no agent.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from lamplighter.agents import pages, transcript
from lamplighter.agents.pages import Turn
from lamplighter.domain.lines import plain
from lamplighter.domain.session import Driver, Session
from lamplighter.errors import Code, ConflictError
from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import INPUT
from lamplighter.lifecycle.dialogue.recounting import Chapter, Recounting, pause
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.sight.judgement import Judgement
from lamplighter.lifecycle.talk.reading import Reading
from lamplighter.store import events

_CLOSE = 0.005  # agents write milliseconds
_COMPARED = 2000
_UNTOLD_QUIET = 3.0
_MOST = 60_000
_CUT = "[the beginning is left out here; lamp read --output has it]\n"


class Reply(NamedTuple):
    """`turn`: done, interrupted, failed, or ended before it was over. `source`: transcript or output."""

    reply: str
    turn: str
    source: str


@dataclass
class _Asked:
    """`text` is None where it is not known any more; what is typed is never kept."""

    at: float
    text: str | None
    cursor: int


@dataclass
class _Look:
    """What was found at the last look, so that the next one goes on from there."""

    path: str = ""
    place: int | None = None
    signature: object = None
    turn: Turn | None = None
    sure: bool = True


class Replies:
    """`sources`: a way to run that knows by itself when a turn is over, and what was answered, says so here."""

    def __init__(self, fleet: Fleet, reading: Reading, judgement: Judgement, recounting: Recounting) -> None:
        self.fleet = fleet
        self.reading = reading
        self.judgement = judgement
        self.recounting = recounting
        self.sources: dict[Driver, Callable[[Session], Awaitable[Reply]]] = {}

    async def wait(self, session: Session, quiet: float) -> Reply:
        """Until it has answered. ENDED when it ended without."""
        if session.driver in self.sources:
            return await self.sources[session.driver](session)
        asked = await self._asked(session)
        look = _Look()
        while True:
            lamp = self.fleet.lamps.get(session.id)
            ended = lamp is None or lamp.ended.is_set()
            chapters = [one for one in await self.recounting.chapters(session) if one.path]
            reply = await self._told(session, chapters, asked, look, quiet, ended)
            if reply is None and not chapters:
                reply = await self._printed(session, asked, quiet, ended)
            if reply is not None:
                return reply
            if ended or lamp is None:
                raise _ended_first(session)
            await pause(lamp)

    # -- by the transcript

    async def _told(
        self, session: Session, chapters: list[Chapter], asked: _Asked, look: _Look, quiet: float, ended: bool
    ) -> Reply | None:
        for chapter in reversed(chapters[-2:]):
            await self.recounting.patiently(
                session, lambda one=chapter: _find(one.path, session.agent, asked, look, ended)
            )
            if look.turn is not None:
                break
        turn = look.turn
        if turn is None:
            return None
        if ended:
            return Reply(turn.reply, turn.how or "ended", "transcript") if turn.reply or turn.how else None
        if not turn.how or not ((turn.sure and look.sure) or await self.judgement.is_at_rest(session, quiet)):
            return None
        return Reply(turn.reply, turn.how, "transcript")

    # -- by the output

    async def _printed(self, session: Session, asked: _Asked, quiet: float, ended: bool) -> Reply | None:
        known = session.agent in transcript.READERS  # whose transcript may come yet
        quiet = max(quiet, _UNTOLD_QUIET) if known else quiet
        rests = self.judgement.silent_for(session) >= quiet and await self.judgement.is_at_rest(session, quiet)
        if not ended and not rests:
            return None
        return Reply(await self.output(session, asked.cursor, asked.text or ""), "ended" if ended else "done", "output")

    async def output(self, session: Session, cursor: int, message: str) -> str:
        """All that it printed since, at most so much of it, without the terminal's echo of what was typed."""
        if session.traced or session.logical:
            return ""
        parts, cut = list[bytes](), False
        while True:
            data, following = await self.reading.raw(session, cursor)
            if following == cursor:
                break
            parts, cursor = [*parts, data], following
            if sum(map(len, parts)) > 8 * _MOST:
                parts, cut = [b"".join(parts)[-4 * _MOST :]], True
        text = plain(b"".join(parts))
        if session.driver is not Driver.HEADLESS and not cut:
            text = text.removeprefix(message.rstrip("\n")).removeprefix("\n")
        return text if len(text) <= _MOST and not cut else _CUT + text[-_MOST:]

    # -- what was asked

    async def _asked(self, session: Session) -> _Asked:
        """As long as this daemon has known it, what was sent; else when, by the log; else what it was started with."""
        lamp = self.fleet.lamps.get(session.id)
        if lamp is not None and lamp.asked is not None:
            at, text = lamp.asked
            return _Asked(at, text, lamp.last_sent or 0)

        def sends(db: sqlite3.Connection) -> list[tuple[float, bool, float]]:
            return events.sends_of(db, session.id)

        said = await self.fleet.store.get(sends)
        typed = await self.recounting.patiently(session, lambda: _typed(self.fleet.folder(session.id)))
        if typed is None and not said:
            return _Asked(session.created_at, None, 0)
        at, cursor = typed or (0.0, 0)
        if said and at <= said[0][0] + 1.0:  # else it was typed, and the daemon was lost before it wrote that down
            at = next((since for _, keys, since in said if not keys), session.created_at)
        return _Asked(at, None, cursor)


# -- in a thread


def _typed(folder: str) -> tuple[float, int] | None:
    """When something was last sent, and where the output stood."""
    found = None
    with LogReader(folder) as reader:
        for frame in reader.frames(0):
            if frame.kind == INPUT and json.loads(frame.payload).get("id"):
                found = (frame.time, frame.offset)
    return found


def _find(path: str, agent: str, asked: _Asked, look: _Look, ended: bool) -> None:
    """The turn that began with what was asked, in `look`; None when there is none yet."""
    seen = pages.signature(path)
    if (path, seen) == (look.path, look.signature) and not ended:
        return
    place = look.place if path == look.path else None
    found: list[Turn] = []
    for start in [place] if place is not None else pages.starts(path):
        found = list(pages.turns(path, agent, start, ended=ended))
        if any(turn.at is not None and turn.at < asked.at - _CLOSE for turn in found):
            break
    since = [turn for turn in found if turn.at is not None and turn.at >= asked.at - _CLOSE]
    same = [turn for turn in since if asked.text is not None and _same(turn.request, asked.text)]
    turn = same[-1] if same else since[-1] if since else None
    if turn is not None and not turn.how and since:
        turn = since[-1]  # what came while it was at it is answered with it
    look.path, look.signature, look.turn = path, seen, turn
    look.sure = bool(same) or asked.text is None
    look.place = since[0].place if since else None


def _same(one: str, other: str) -> bool:
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return "".join(text.split())[:_COMPARED]


def _ended_first(session: Session) -> ConflictError:
    return ConflictError(
        Code.ENDED,
        f"{session.name} ({session.id}) ended before it had answered",
        "lamp read --transcript and lamp show say what it did",
    )
