"""Reading what sessions show and printed: screens rebuilt from the log, output by cursor, recordings.

Knows logs and screens; the work is done in threads, one at a time for each session.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import field
from typing import Any, ParamSpec, TypeVar

from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, InputError
from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import INPUT
from lamplighter.lazy_dataclass import dataclass
from lamplighter.replay import cast, keyframes
from lamplighter.replay.screen import Screen, log_start

P = ParamSpec("P")
T = TypeVar("T")
_SCREENS = 64
_READERS = 256
_CAST_PAGE = 1 << 20
_SMALL = 128 << 10  # read on the loop: quicker than waking a thread


@dataclass(frozen=True)
class Picture:
    """Bytes that draw a screen of this size, after a reset, as it stood at `offset`, with what had scrolled away before it."""

    data: bytes
    offset: int
    rows: int
    cols: int


@dataclass
class _Desk:
    """What is kept of one session between two reads."""

    reader: LogReader
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    screen: Screen | None = None
    framing: bool = False


class OutputReader:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry
        self._desks: OrderedDict[str, _Desk] = OrderedDict()

    # -- output

    async def output(self, session: Session, lines: int | None, since: int | None, limit: int) -> dict[str, Any]:
        """A page of text. A character that is not all there yet is left for the next page."""
        desk = self._desk(session)
        ended = not session.alive
        if lines is None and limit <= _SMALL:
            async with desk.lock:
                page = _page(desk.reader, lines, since, limit, ended)
        else:
            page = await self._in_turn(desk, _page, desk.reader, lines, since, limit, ended)
        return {"id": session.id, "mode": "output", **page}

    async def refuse_past(self, session: Session, since: int) -> None:
        """BAD_INPUT for a cursor past the end of the log."""
        desk = self._desk(session)
        async with desk.lock:
            end = desk.reader.tail_lines(1).next_cursor
        if since > end:
            raise past_the_end(session, since, end)

    async def raw(self, session: Session, cursor: int, limit: int = 1 << 20) -> tuple[bytes, int]:
        """Bytes from a cursor on, and the cursor after them."""
        desk = self._desk(session)
        async with desk.lock:
            page = desk.reader.read(cursor, min(limit, _SMALL))
        return b"".join(chunk.data for chunk in page.chunks), page.next_cursor

    async def last_input(self, session: Session) -> int:
        """Where the output stood when something was last sent."""
        return await asyncio.to_thread(_last_input, self.registry.folder(session.id))

    async def typed_at(self, session: Session, key: str) -> int | None:
        """Where the output stood when this very input was typed; None when it never was."""
        return await asyncio.to_thread(_typed_at, self.registry.folder(session.id), key)

    async def cast(self, session: Session, since: int = 0) -> AsyncIterator[dict[str, Any]]:
        """A recording from an offset on, in pages. The last says how much of it rotation took."""
        folder = self.registry.folder(session.id)
        lost = max(0, await asyncio.to_thread(log_start, folder) - since)
        lines = cast.recording(folder, session.name, since)
        while text := await asyncio.to_thread(_some, lines):
            yield {"id": session.id, "mode": "cast", "text": text, "cursor": 0, "more": True, "lost": 0}
        yield {"id": session.id, "mode": "cast", "text": "", "cursor": 0, "more": False, "lost": lost}

    # -- screens

    async def screen(
        self, session: Session, mode: str, lines: int | None, modes: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        """With `modes`: whether the terminal is in each of these, by the numbers of DEC's private modes."""
        desk = self._desk(session)
        shown = await self._in_turn(desk, self._screen, session, desk, mode, lines, modes)
        return {"id": session.id, "mode": mode, **shown}

    async def drawn(self, session: Session, offset: int) -> bytes:
        """Bytes that draw the screen as it stood at an offset; for a headless session its last lines."""
        desk = self._desk(session)
        return await self._in_turn(desk, self._drawn, session, desk, offset)

    async def picture(self, session: Session, history: int) -> Picture:
        """The screen as it is by the log, with `history` rows before it; for a headless session its last lines."""
        desk = self._desk(session)
        return await self._in_turn(desk, self._picture, session, desk, history)

    async def keep_keyframe(self, session: Session) -> None:
        """A segment was filled: write down the screen, so that it can be rebuilt when that segment is gone."""
        desk = self._desk(session)
        if session.piped or desk.framing:  # one that waits for its turn will do for this segment too
            return
        desk.framing = True
        await self._in_turn(desk, self._keep_keyframe, session, desk)

    async def replies(self, session: Session, begin: int, end: int) -> bytes:
        """What a terminal would answer to what was asked of it between two offsets."""
        desk = self._desk(session)
        return await self._in_turn(desk, self._replies, session, desk, begin, end)

    def forget(self, session: str) -> None:
        desk = self._desks.pop(session, None)
        if desk is not None:
            _close(desk)

    async def _in_turn(self, desk: _Desk, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """In a thread. Who asked may leave: the thread goes on, and until it is done it is still its turn."""

        async def turn() -> T:
            async with desk.lock:
                return await asyncio.to_thread(work, *args, **kwargs)

        turning = asyncio.ensure_future(turn())
        turning.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(turning)

    # -- in a thread

    def _screen(
        self, session: Session, desk: _Desk, mode: str, lines: int | None, modes: tuple[int, ...]
    ) -> dict[str, Any]:
        screen = self._screen_of(session, desk)
        offset = self._catch_up(session, screen)
        rows, cols = screen.size
        facts: dict[str, Any] = {
            "cursor": offset,
            "more": False,
            "lost": 0,
            "exact": screen.exact,
            "rows": rows,
            "cols": cols,
        }
        if modes:
            facts["modes"] = {number: screen.mode(number) for number in modes}
        if mode == "vt":
            return {**facts, "text": "", "base64": base64.b64encode(screen.vt()).decode()}
        shown = "\n".join(screen.text(lines))
        return {
            **facts,
            "text": shown + "\n" if shown else "",
            "at": list(reversed(screen.cursor)),
            "title": screen.title or None,
        }

    def _drawn(self, session: Session, desk: _Desk, offset: int) -> bytes:
        if session.piped:
            return b"".join(chunk.data for chunk in desk.reader.tail_lines(50).chunks)
        screen = self._screen_of(session, desk)
        screen.advance_to(offset)
        return screen.vt()

    def _picture(self, session: Session, desk: _Desk, history: int) -> Picture:
        if session.piped:
            page = desk.reader.tail_lines(history)
            return Picture(b"".join(chunk.data for chunk in page.chunks), page.next_cursor, 0, 0)
        screen = self._screen_of(session, desk)
        offset = self._catch_up(session, screen)
        return Picture(screen.vt(history), offset, *screen.size)

    def _catch_up(self, session: Session, screen: Screen) -> int:
        """To where the log stands now, and no further: who prints faster than this reads would never be at an end."""
        meter = self.registry.reading(session.id)
        return screen.advance_to(max(meter.offset, screen.offset) if meter and session.alive else None)

    def _keep_keyframe(self, session: Session, desk: _Desk) -> None:
        desk.framing = False
        screen = self._screen_of(session, desk)
        self._catch_up(session, screen)
        screen.replies()
        folder = self.registry.folder(session.id)
        keyframes.write(folder, screen.keyframe())
        keyframes.prune(folder, 0)

    def _replies(self, session: Session, desk: _Desk, begin: int, end: int) -> bytes:
        screen = self._screen_of(session, desk)
        screen.advance_to(begin)
        screen.replies()
        screen.advance_to(end)
        return screen.replies()

    # -- what is kept

    def _screen_of(self, session: Session, desk: _Desk) -> Screen:
        if desk.screen is None:
            reading = self.registry.reading(session.id)
            size = (reading.rows, reading.cols) if reading and reading.rows else (24, 80)
            desk.screen = Screen(self.registry.folder(session.id), *size)
        return desk.screen

    def _desk(self, session: Session) -> _Desk:
        """Kept for those read last; the others are read from their logs again when asked for."""
        desk = self._desks.pop(session.id, None) or _Desk(LogReader(self.registry.folder(session.id)))
        self._desks[session.id] = desk
        self._let_go()
        return desk

    def _let_go(self) -> None:
        with_screen = [name for name, desk in self._desks.items() if desk.screen is not None and not desk.lock.locked()]
        for name in with_screen[: max(0, len(with_screen) - _SCREENS)]:
            _close(self._desks.pop(name))
        for name in [name for name, desk in self._desks.items() if not desk.lock.locked()][
            : max(0, len(self._desks) - _READERS)
        ]:
            _close(self._desks.pop(name))


def past_the_end(session: Session, since: int, end: int) -> InputError:
    """The cursor is another session's or another mode's: what comes next would be missed."""
    return InputError(
        Code.BAD_INPUT,
        f"cursor {since} is past the end of the output of {session.name} ({session.id}), which is at {end}",
        "take the cursor that came with a page of this output, or leave it out",
    )


def _close(desk: _Desk) -> None:
    desk.reader.close()
    if desk.screen is not None:
        desk.screen.close()
        desk.screen = None


def _page(reader: LogReader, lines: int | None, since: int | None, limit: int, ended: bool) -> dict[str, Any]:
    page = reader.tail_lines(lines) if lines is not None and since is None else reader.read(since or 0, limit)
    data = b"".join(chunk.data for chunk in page.chunks)
    held = 0 if ended and page.end else _unfinished(data)
    text = data[: len(data) - held].decode(errors="replace")
    if lines is not None and since is not None:
        text = "".join(text.splitlines(keepends=True)[-lines:])
    cursor = page.next_cursor - held
    return {"text": text, "cursor": cursor, "more": not page.end, "lost": sum(gap.lost for gap in page.gaps)}


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a character whose rest has not come."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
        if byte < 0x80:
            return 0
    return 0


def _some(lines: Iterator[str]) -> str:
    taken: list[str] = []
    size = 0
    for line in lines:
        taken.append(line if line.endswith("\n") else line + "\n")
        size += len(line)
        if size >= _CAST_PAGE:
            break
    return "".join(taken)


def _last_input(folder: str) -> int:
    offset = 0
    with LogReader(folder) as reader:
        for frame in reader.frames(0):
            if frame.kind == INPUT:
                offset = frame.offset
    return offset


def _typed_at(folder: str, key: str) -> int | None:
    with LogReader(folder) as reader:
        for frame in reader.frames(0):
            if frame.kind == INPUT and json.loads(frame.payload).get("id") == key:
                return frame.offset
    return None
