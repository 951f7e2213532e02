"""What was said in a session, by its agent's own transcript: messages by cursor, through all conversations that it was in.

A cursor is the number of the conversation among the session's own, and a place in that one's transcript; it holds as long as the
transcript does, whatever becomes of the daemon. Knows sessions; knows no agent's format.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from lamplighter.agents.formats import transcript, transcript_pages
from lamplighter.agents.formats.transcript_pages import TranscriptMessage, TranscriptPage
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io import transcripts
from lamplighter.engine.agents_io.conversation_finder import ConversationFinder
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.errors import Code, DeadlineError, Hint, InputError, MissingError, UnavailableError, Use

T = TypeVar("T")
_SECONDS = 10.0
_LOOK_SECONDS = 0.3
_PLACE = 40  # bits of a cursor that are the place


class Chapter(NamedTuple):
    """One conversation of a session. `since`: it was in it before, and went back to it then."""

    conversation: str
    path: str
    since: float | None = None


class TranscriptReader:
    def __init__(self, registry: SessionRegistry, conversation_finder: ConversationFinder) -> None:
        self.registry = registry
        self.conversation_finder = conversation_finder

    async def read(
        self, session: Session, last: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages; one, unless it is followed."""
        chapters = await self._readable(session)
        number, place = divmod(since or 0, 1 << _PLACE)
        if since is not None:
            await self._check(session, chapters, number, place)
        if last is not None and since is None:
            found, number, place = await self.tail(session, chapters, last, limit)
            page = TranscriptPage((), place, False)
            yield _document(session, found, number, place, more=False)
        else:
            number, page = await self._page(session, chapters, number, place, limit)
            place = page.next
            yield _document(session, _within(chapters, number, page), number, place, page.more)
            if page.more and not follow:
                return
        while follow:
            going_on = page.more or await self._more(session, chapters[-1] if chapters else None)
            chapters = await self.chapters(session)
            number, page = await self._page(session, chapters, number, place, limit)
            place = page.next
            if page.messages:
                yield _document(session, _within(chapters, number, page), number, place, page.more)
            if not going_on and not page.more:
                return

    async def chapters(self, session: Session) -> list[Chapter]:
        """The conversations that it is and was in, as far as there are transcripts of them; the last is the one of now."""
        session = await self.conversation_finder.follow(await self.registry.now(session))
        until = session.ended_at or self.registry.clock.now()

        def find() -> list[Chapter]:
            form = transcript.format_of(session.transcript_form)
            known = session.conversations
            where = transcripts.where(session, until)
            if form is None:
                return []
            unseen = session.shim is None or not form.lazy
            if not known and not session.alive and unseen:  # nobody followed it while it lived
                path = transcript.find(form.agent, where)
                return [Chapter(form.name_of(path), path)] if path else []
            found: list[Chapter] = []
            for one in known:
                path, name = one.get("path"), one.get("id", "")
                if path is None:
                    seen = form.named(replace(where, conversation=name, pids=()))
                    path = seen.path if seen and seen.conversation == name else None
                before = any(each.conversation == name for each in found)
                found.append(Chapter(name, path or "", one.get("at") if before else None))
            return found

        return await self.patiently(session, find)

    async def tail(
        self, session: Session, chapters: list[Chapter], count: int, limit: int
    ) -> tuple[list[tuple[Chapter, TranscriptMessage]], int, int]:
        """The last messages, from as many conversations as they are in, and where to go on from."""
        found: list[tuple[Chapter, TranscriptMessage]] = []
        at = (max(0, len(chapters) - 1), 0)
        for number in reversed(range(len(chapters))):
            chapter = chapters[number]
            left = count - len(found)
            page = await self.patiently(session, _tailing(session, chapter, left, limit))
            if number == len(chapters) - 1:
                at = (number, page.next)
            found = [(chapter, message) for message in page.messages] + found
            limit -= sum(len(message.text.encode(errors="replace")) for message in page.messages)
            if len(found) >= count or limit <= 0:
                break
        return found, at[0], at[1]

    async def patiently(self, session: Session, work: Callable[[], T]) -> T:
        """In a thread of its own, and not for ever."""
        try:
            return await asyncio.to_thread(answered, session.cwd, work, _SECONDS)
        except TimeoutError as error:
            raise DeadlineError(
                Code.TIMEOUT,
                f"the transcript of {session.name} ({session.id}) cannot be read: {error}",
                Hint("try again when the disk answers; ", Use("read", mode="output"), " shows what it printed"),
            ) from None

    async def _readable(self, session: Session) -> list[Chapter]:
        if transcript.format_of(session.transcript_form) is None:
            raise UnavailableError(
                Code.UNSUPPORTED,
                f"{session.name} ({session.id}) runs {session.agent}, which keeps no transcript that can be read",
                Hint(Use("read"), " shows its screen, ", Use("read", mode="output"), " what it printed"),
            )
        chapters = await self.chapters(session)
        if not any(chapter.path for chapter in chapters) and not session.alive:
            raise MissingError(
                Code.NOT_FOUND,
                f"there is no transcript of {session.name} ({session.id})",
                Hint("its agent wrote none, or it is gone; ", Use("read", mode="output"), " shows what it printed"),
            )
        return chapters

    async def _check(self, session: Session, chapters: list[Chapter], number: int, place: int) -> None:
        chapter = chapters[number] if number < len(chapters) else None
        last = 0
        if chapter is not None and chapter.path:
            last = await self.patiently(session, lambda: transcript_pages.end(chapter.path, session.transcript_form))
        if (chapter is None and (number, place) != (0, 0)) or place > last:
            raise InputError(
                Code.BAD_INPUT,
                f"there is nothing at cursor {(number << _PLACE) + place} of the transcript of {session.name}",
                "take the cursor of a page of this transcript, or leave it out to begin at the beginning",
            )

    async def _page(
        self, session: Session, chapters: list[Chapter], number: int, place: int, limit: int
    ) -> tuple[int, TranscriptPage]:
        """The next messages, in the next conversation where this one has no more."""
        ended = not session.alive or session.id not in self.registry.live_sessions
        while number < len(chapters):
            page = await self.patiently(session, _paging(session, chapters[number], place, limit, ended))
            last = number + 1 == len(chapters)
            if page.messages or page.more or last:
                return number, page if last else page._replace(more=True)
            number, place = number + 1, 0
        return number, TranscriptPage((), place, False)

    async def _more(self, session: Session, chapter: Chapter | None) -> bool:
        """Until there may be more; False when it has ended, and there will be none."""
        live = self.registry.live_sessions.get(session.id)
        path = chapter.path if chapter else ""
        before = await self.patiently(session, lambda: transcript_pages.signature(path))
        while live is not None and not live.ended.is_set():
            await pause(live)
            now = await self.chapters(session)
            if now and now[-1] != chapter:
                return True
            if await self.patiently(session, lambda: transcript_pages.signature(path)) != before:
                return True
        return False


async def pause(live: LiveSession) -> None:
    """A moment, or until it has ended: an agent's file tells nobody that it grew."""
    with suppress(TimeoutError):
        await asyncio.wait_for(live.ended.wait(), _LOOK_SECONDS)


def _paging(session: Session, chapter: Chapter, place: int, limit: int, ended: bool) -> Callable[[], TranscriptPage]:
    def work() -> TranscriptPage:
        if not chapter.path:
            return TranscriptPage((), place, False)
        start, form = place, session.transcript_form
        if chapter.since is not None and not start:
            start = transcript_pages.place_at(chapter.path, form, chapter.since)
        return transcript_pages.page(chapter.path, form, start, limit, ended=ended)

    return work


def _tailing(session: Session, chapter: Chapter, count: int, limit: int) -> Callable[[], TranscriptPage]:
    def work() -> TranscriptPage:
        if not chapter.path:
            return TranscriptPage((), 0, False)
        return transcript_pages.tail(chapter.path, session.transcript_form, count, limit, ended=not session.alive)

    return work


def _within(chapters: list[Chapter], number: int, page: TranscriptPage) -> list[tuple[Chapter, TranscriptMessage]]:
    return [(chapters[number], message) for message in page.messages]


def _document(
    session: Session, found: list[tuple[Chapter, TranscriptMessage]], number: int, place: int, more: bool
) -> dict[str, Any]:
    said = [{**message._asdict(), "conversation": chapter.conversation} for chapter, message in found]
    for one in said:
        del one["next"]
    return {
        "id": session.id,
        "mode": "transcript",
        "text": "".join(_shown(message) for _, message in found),
        "messages": said,
        "cursor": (number << _PLACE) + place,
        "more": more,
        "lost": 0,
    }


def _shown(message: TranscriptMessage) -> str:
    at = f" {datetime.fromtimestamp(message.at, UTC):%Y-%m-%d %H:%M:%S}Z" if message.at else ""
    if message.role == transcript_pages.TOOL:
        return f"[tool] {message.text}\n\n"
    return f"{message.role}{at}\n{message.text}\n\n"
