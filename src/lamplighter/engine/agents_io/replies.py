"""What an agent answered to what was sent to it last.

From its transcript, where the turn that began with it is over; else from its output since, once it is at rest. What was there
before the input is never the answer to it. Knows turns and outputs; knows no agent.
"""

from __future__ import annotations

import json
import sqlite3

from lamplighter.agents.formats import transcript, transcript_pages
from lamplighter.agents.formats.transcript_pages import Turn
from lamplighter.domain.session import Session
from lamplighter.domain.text.echo import without_echo
from lamplighter.domain.text.output_tail import plain
from lamplighter.engine.agents_io.transcript_reader import Chapter, TranscriptReader, pause
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.base import Reply
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.assessor import Assessor
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import Code, ConflictError, Hint, Use
from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import INPUT
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import events

_CLOSE = 0.005  # agents write milliseconds
_COMPARED = 2000
_UNTOLD_QUIET = 3.0
_MOST = 60_000
_CUT = "[the beginning is left out here; lamp read --output has it]\n"


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
    def __init__(
        self,
        registry: SessionRegistry,
        backends: Backends,
        reading: OutputReader,
        assessor: Assessor,
        transcript_reader: TranscriptReader,
    ) -> None:
        self.registry = registry
        self.backends = backends
        self.reading = reading
        self.assessor = assessor
        self.transcript_reader = transcript_reader

    async def wait(self, session: Session, quiet: float) -> Reply:
        """Until it has answered. ENDED when it ended without."""
        reply = await self.backends.of(session).reply(session)
        if reply is not None:
            return reply
        asked = await self._asked(session)
        look = _Look()
        while True:
            live = self.registry.live_sessions.get(session.id)
            ended = live is None or live.ended.is_set()
            chapters = [one for one in await self.transcript_reader.chapters(session) if one.path]
            reply = await self._told(session, chapters, asked, look, quiet, ended)
            if reply is None and not chapters:
                reply = await self._printed(session, asked, quiet, ended)
            if reply is not None:
                return reply
            if ended or live is None:
                raise _ended_first(session)
            await pause(live)

    # -- by the transcript

    async def _told(
        self, session: Session, chapters: list[Chapter], asked: _Asked, look: _Look, quiet: float, ended: bool
    ) -> Reply | None:
        for chapter in reversed(chapters[-2:]):
            await self.transcript_reader.patiently(
                session, lambda one=chapter: _find(one.path, session.agent, asked, look, ended)
            )
            if look.turn is not None:
                break
        turn = look.turn
        if turn is None:
            return None
        if ended:
            return Reply(turn.reply, turn.how or "ended", "transcript") if turn.reply or turn.how else None
        if not turn.how or not ((turn.sure and look.sure) or await self.assessor.is_at_rest(session, quiet)):
            return None
        return Reply(turn.reply, turn.how, "transcript")

    # -- by the output

    async def _printed(self, session: Session, asked: _Asked, quiet: float, ended: bool) -> Reply | None:
        known = transcript.format_of(session.agent) is not None  # whose transcript may come yet
        quiet = max(quiet, _UNTOLD_QUIET) if known else quiet
        rests = self.assessor.silent_for(session) >= quiet and await self.assessor.is_at_rest(session, quiet)
        if not ended and not rests:
            return None
        return Reply(await self.output(session, asked.cursor, asked.text or ""), "ended" if ended else "done", "output")

    async def output(self, session: Session, cursor: int, message: str) -> str:
        """All that it printed since, at most so much of it, without the terminal's echo of what was typed."""
        parts, cut = list[bytes](), False
        while True:
            data, following = await self.reading.raw(session, cursor)
            if following == cursor:
                break
            parts, cursor = [*parts, data], following
            if sum(map(len, parts)) > 8 * _MOST:
                parts, cut = [b"".join(parts)[-4 * _MOST :]], True
        text = plain(b"".join(parts))
        if not cut:
            text = without_echo(text, message, self.backends.of(session).echo)
        return text if len(text) <= _MOST and not cut else _CUT + text[-_MOST:]

    # -- what was asked

    async def _asked(self, session: Session) -> _Asked:
        """As long as this daemon has known it, what was sent; else when, by the log; else what it was started with."""
        live = self.registry.live_sessions.get(session.id)
        if live is not None and live.asked is not None:
            at, text = live.asked
            return _Asked(at, text, live.last_sent or 0)

        def sends(db: sqlite3.Connection) -> list[tuple[float, bool, float]]:
            return events.sends_of(db, session.id)

        said = await self.registry.store.get(sends)
        typed = await self.transcript_reader.patiently(session, lambda: _typed(self.registry.folder(session.id)))
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
    seen = transcript_pages.signature(path)
    if (path, seen) == (look.path, look.signature) and not ended:
        return
    place = look.place if path == look.path else None
    found: list[Turn] = []
    for start in [place] if place is not None else transcript_pages.starts(path):
        found = list(transcript_pages.turns(path, agent, start, ended=ended))
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
        Hint(Use("read", mode="transcript"), " and ", Use("show"), " say what it did"),
    )
