"""A session's output for all the pages that watch it: heard from its holder once, however many they are.

Each watcher has credit: what it has been sent and has not drawn. Past that its output waits, and past what may wait it skips
ahead to the screen as it is then. So neither the session nor the daemon waits for a page, or keeps much for it.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from lamplighter.holder.wire import JSON, OUTPUT, Channel, WireError, unpack_output

if TYPE_CHECKING:
    from lamplighter.app import App
    from lamplighter.domain.session import Session
    from lamplighter.engine.output.output_reader import OutputReader, Picture

_UNDRAWN = 512 << 10
_WAITING = 1 << 20  # the same bytes for all who wait: ten of them keep little more than one
_SCREEN_SECONDS = 0.25  # between two screens: one who is always behind would get nothing else
_HISTORY = 300  # rows that come with the first screen; each takes a while to write

_AFRESH = b"\x1b[!p\x1b[?2027h\x1b[?1049l\x1b[r\x1b[m\x1b[H\x1b[2J"
"""What a screen without its history begins with: a page keeps what it has that scrolled away."""

Part = bytes | dict[str, Any]


class Broadcasts:
    def __init__(self, app: App) -> None:
        self.app = app
        self._all: dict[str, Broadcast] = {}
        self._lock = asyncio.Lock()

    async def join(self, identifier: str) -> Watcher:
        """LampError when there is nothing to watch: it has ended, or its terminal is somebody else's."""
        async with self._lock:
            found = self._all.get(identifier)
            if found is None or found.over:
                session = await self.app.registry.by_id(identifier)
                descriptor = await self.app.session_io.overhear(session)
                channel = Channel(socket.socket(fileno=descriptor))
                found = Broadcast(session, self.app.reading, channel, lambda: self._all.pop(identifier, None))
                self._all[identifier] = found
            return found.join()


class Broadcast:
    def __init__(
        self, session: Session, reading: OutputReader, channel: Channel, on_over: Callable[[], object]
    ) -> None:
        self.session = session
        self.reading = reading
        self.channel = channel
        self.watchers: set[Watcher] = set()
        self.over: dict[str, Any] | None = None
        self.on_over = on_over
        self._next: asyncio.Task[Picture] | None = None
        self._last: asyncio.Task[Picture] | None = None
        self._drawn_at = 0.0
        channel.send_json({"op": "here"})
        asyncio.get_running_loop().add_reader(channel, self._read)

    def join(self) -> Watcher:
        watcher = Watcher(self)
        self.watchers.add(watcher)
        return watcher

    def leave(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        if not self.watchers:
            self._close({"type": "lost"})

    async def picture(self, *, whole: bool) -> Picture:
        """A screen that is read after this was asked for. `whole`: with what scrolled away before; else one for all who ask
        meanwhile."""
        if whole:
            return await self.reading.picture(self.session, _HISTORY)
        if self._next is None:
            self._next = asyncio.ensure_future(self._draw(self._last))
        return await asyncio.shield(self._next)

    async def _draw(self, last: asyncio.Task[Picture] | None) -> Picture:
        if last is not None:
            await asyncio.wait((last,))
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._drawn_at + _SCREEN_SECONDS - loop.time()))
        self._last, self._next, self._drawn_at = self._next, None, loop.time()
        return await self.reading.picture(self.session, 0)

    def _read(self) -> None:
        try:
            frames = self.channel.read()
        except WireError:
            frames = None
        for kind, payload in frames or ():
            if kind == OUTPUT:
                offset, _, data = unpack_output(payload)
                for watcher in self.watchers:
                    watcher.hear(offset, data)
            elif kind == JSON:
                self._take(json.loads(payload))
        if frames is None:
            self._close({"type": "lost"})

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("event") == "ended":
            self._close({"type": "ended"})
        elif event.get("event") == "skip":  # we were too slow ourselves
            for watcher in self.watchers:
                watcher.miss()
        elif event.get("event") == "resize":
            for watcher in self.watchers:
                watcher.tell({"type": "size", "rows": event["rows"], "cols": event["cols"]})

    def _close(self, why: dict[str, Any]) -> None:
        if self.over is None:
            self.over = why
            asyncio.get_running_loop().remove_reader(self.channel)
            self.channel.close()
            self.on_over()
            for watcher in self.watchers:
                watcher.news.set()


class Watcher:
    """One page. `position` is how far it has been sent; what waits for it goes on from there, or it is stale."""

    def __init__(self, broadcast: Broadcast) -> None:
        self.broadcast = broadcast
        self.news = asyncio.Event()
        self.position = -1
        self.stale = True
        self.skipped = False
        self._drawing = False
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._told: deque[dict[str, Any]] = deque()
        self._undrawn = 0

    # -- by the broadcast and the page

    def hear(self, offset: int, data: bytes) -> None:
        if self._drawing:  # the screen will be newer than the oldest of it: one who draws quickly catches up
            while self._waiting and self._size + len(data) > _WAITING:
                self._size -= len(self._waiting.popleft()[1])
        elif self._size + len(data) > _WAITING:
            self.miss()
            return
        self._waiting.append((offset, data))
        self._size += len(data)
        self.news.set()

    def miss(self) -> None:
        """What waits is of no use without what is missed: the next is a whole screen."""
        self._waiting.clear()
        self._size = 0
        self.skipped = self.skipped or not self.stale
        self.stale = True
        self.news.set()

    def tell(self, message: dict[str, Any]) -> None:
        self._told.append(message)
        self.news.set()

    def drew(self, count: int) -> None:
        self._undrawn = max(0, self._undrawn - count)
        self.news.set()

    def leave(self) -> None:
        self.broadcast.leave(self)

    # -- for the page

    async def parts(self) -> AsyncIterator[Part]:
        """What to send, as it comes, until it is over."""
        while True:
            self.news.clear()
            while self._told:
                yield self._told.popleft()
            if self._undrawn < _UNDRAWN:
                if self.stale:
                    async for part in self._anew():
                        yield part
                    continue
                data = self._taken()
                if data:
                    self._undrawn += len(data)
                    yield data
                    continue
            if self.broadcast.over is not None and (self._undrawn >= _UNDRAWN or not self._waiting):
                yield self.broadcast.over
                return
            await self.news.wait()

    async def _anew(self) -> AsyncIterator[Part]:
        """The whole screen, from the log; what was heard meanwhile goes on from it, or it is drawn once more."""
        before, was_skipped = self.position, self.skipped
        self.stale = self.skipped = False
        self._drawing = True
        try:
            picture = await self.broadcast.picture(whole=before < 0)
        finally:
            self._drawing = False
        self.position = picture.offset
        if was_skipped and picture.offset > before:
            yield {"type": "skipped", "bytes": picture.offset - before}
        yield {"type": "screen", "rows": picture.rows, "cols": picture.cols, "whole": before < 0}
        data = picture.data if before < 0 else _AFRESH + picture.data
        self._undrawn += len(data)
        yield data

    def _taken(self) -> bytes:
        """All that waits and goes on from where the page is. After a hole, as when the log was a moment behind what was heard,
        the screen is drawn once more."""
        found: list[bytes] = []
        while self._waiting:
            offset, data = self._waiting.popleft()
            self._size -= len(data)
            if offset > self.position:
                self.stale = True
                break
            found.append(data[self.position - offset :])
            self.position = max(self.position, offset + len(data))
        return b"".join(found)
