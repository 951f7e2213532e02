"""Reading a session's log by cursor, while it grows, rolls and loses its oldest segments.

Knows where it got to, and what is missing and why. Knows nothing of terminals or of what a payload means.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from lamplighter.holder.segments import (
    BLOCK,
    GAP,
    HEADER,
    NO_STREAM,
    OUTPUT,
    Segment,
    blocks,
    gap_payload,
    gap_said,
    parse,
    segments,
)

if TYPE_CHECKING:
    from lamplighter.holder.segments import Entry

_HEADER_SIZE = HEADER.size


class Frame(NamedTuple):
    kind: int
    stream: int
    offset: int
    time: float
    payload: bytes


class Chunk(NamedTuple):
    """Output of one stream without a break in it; `time` is when its first frame was written."""

    offset: int
    stream: int
    time: float
    data: bytes


class Gap(NamedTuple):
    offset: int
    lost: int
    why: str


class LogPage(NamedTuple):
    """What was read from `cursor` up to `next_cursor`; `end` says that there was nothing more to read."""

    cursor: int
    next_cursor: int
    chunks: list[Chunk]
    gaps: list[Gap]
    end: bool

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)


class LogReader:
    """Reads a log by cursor while it grows, rolls and loses its oldest segments.

    Remembers the place it got to, so successive cursors cost no rescan. One walk at a time; threads need their own.
    """

    __slots__ = ("_fd", "_folder", "_offset", "_position", "_segment", "_walk", "_why")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._fd = -1
        self._segment: Segment | None = None
        self._position: int = 0  # where in the segment's file the next frame begins,
        self._offset: int = 0  # and the output offset there
        self._why = "rotated"
        self._walk = 0

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back. The place is kept: a later read opens the file again and goes on from there."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, cursor: int, max_bytes: int = 64 << 10) -> LogPage:
        """Output from `cursor` on, at most `max_bytes` of it: nothing skipped, nothing repeated, what is lost said."""
        if cursor < 0 or max_bytes <= 0:
            raise ValueError("a cursor is not negative, and a page has room for something")
        self._begin(cursor)
        page = _PageBuilder(cursor, max_bytes)
        for block, base, entries in self._batches(min(BLOCK, max(max_bytes + max_bytes // 4, 4096))):
            stopped = page.take(block, entries, self._why)
            if stopped is not None:
                self._position, self._offset = base + stopped[4] - _HEADER_SIZE, stopped[2]
                return page.finish(end=False)
        return page.finish(end=True)

    def frames(self, since: int = 0) -> Iterator[Frame]:
        """Every frame of every kind from `since` to the present end; what is missing comes as a gap frame.

        A later call goes on where the last stopped: a frame on which the caller broke off comes again, from `since` on.
        """
        walk = self._begin(since)
        at = since
        for block, base, entries in self._batches(BLOCK):
            place = self._position, self._offset
            for entry in entries:
                kind, stream, offset, time, begin, end = entry
                self._position, self._offset = base + begin - _HEADER_SIZE, offset
                payload = block[begin:end]
                if offset > at:
                    yield Frame(GAP, NO_STREAM, at, time, gap_payload(offset - at, self._why))
                    at = offset
                if kind == OUTPUT:
                    if offset + len(payload) <= at:
                        continue
                    payload = payload[at - offset :]
                elif kind == GAP:
                    lost, why = gap_said(payload)
                    if offset + lost < at or (lost and offset + lost == at):
                        continue
                    payload = gap_payload(offset + lost - at, why) if at > offset else payload
                elif offset < at:
                    continue
                yield Frame(kind, stream, at, time, payload)
                if self._walk != walk:
                    raise RuntimeError("this reader was used elsewhere while its frames were being read")
                at += len(payload) if kind == OUTPUT else gap_said(payload)[0] if kind == GAP else 0
            self._position, self._offset = place

    def tail_lines(self, count: int, max_bytes: int = 4 << 20) -> LogPage:
        """The last `count` lines of output, or the last `max_bytes` of it when they are longer than that."""
        start = end = -1
        missing = count
        for segment in reversed(segments(self._folder)):
            for offset, data in reversed(self._outputs(segment)):
                if end < 0:
                    end = offset + len(data)
                    missing += data.endswith(b"\n")  # it ends the last line, and does not begin another
                start, newlines = offset, data.count(b"\n")
                if newlines >= missing or end - offset >= max_bytes:
                    start = max(offset + _after_newline(data, missing), end - max_bytes)
                    return self.read(start, end - start) if start < end else LogPage(end, end, [], [], True)
                missing -= newlines
        return self.read(start, end - start) if start < end else LogPage(0, 0, [], [], True)

    def _outputs(self, segment: Segment) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        with contextlib.suppress(FileNotFoundError):  # rotated away meanwhile: the tail then begins after it
            for block, entries, _ in blocks(self._folder, segment):
                found += [(offset, block[begin:end]) for kind, _, offset, _, begin, end in entries if kind == OUTPUT]
        return found

    def _begin(self, cursor: int) -> int:
        """Stand at or before `cursor`: where we are when that will do, else at the start of its segment."""
        self._walk += 1
        if self._segment is not None and self._offset <= cursor <= self._offset + BLOCK:
            return self._walk
        found = segments(self._folder)
        if found:
            start = found[max(0, bisect_right(found, Segment(cursor, 1 << 62)) - 1)].start
            # Segments without output share their start with the next: begin with the first of them.
            chosen = next(segment for segment in found if segment.start == start)
            if self._segment is None or self._offset > cursor or self._segment < chosen:
                self._stand(chosen, "rotated")
        return self._walk

    def _stand(self, segment: Segment, why: str) -> None:
        self.close()
        self._segment, self._position, self._offset, self._why = segment, 0, segment.start, why

    def _batches(self, want: int) -> Iterator[tuple[bytes, int, list[Entry]]]:
        """Blocks with their place in the file and their entries; our place is after a block when it is handed out."""
        following: Segment | None = None
        while self._segment is not None:
            block, entries, consumed, offset = self._load(want)
            if entries:
                base = self._position
                self._position, self._offset = base + consumed, offset
                yield block, base, entries
                following = None
            elif following is not None:
                # Looked at again after the next one was there, so the writer is done with this one.
                self._stand(following, self._jump_reason())
                following = None
            else:
                following = self._following()
                if following is None:
                    return

    def _load(self, want: int) -> tuple[bytes, list[Entry], int, int]:
        assert self._segment is not None
        if self._fd < 0:
            try:
                self._fd = os.open(os.path.join(self._folder, self._segment.name), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b"", [], 0, self._offset
        block = os.pread(self._fd, want, self._position)
        entries, consumed, offset, need = parse(block, self._offset)
        if not entries and need > len(block) == want:
            block = os.pread(self._fd, need, self._position)
            entries, consumed, offset, need = parse(block, self._offset)
        return block, entries, consumed, offset

    def _following(self) -> Segment | None:
        found = segments(self._folder)
        index = bisect_right(found, self._segment or Segment(0, 0))
        return found[index] if index < len(found) else None

    def _jump_reason(self) -> str:
        """Why output may be missing before the next segment: ours is damaged, or it and more were rotated away."""
        assert self._segment is not None
        return "damaged" if os.path.exists(os.path.join(self._folder, self._segment.name)) else "rotated"


def _after_newline(data: bytes, count: int) -> int:
    """Where the text after the `count`th newline from the end begins; 0 when there are not as many."""
    end = len(data)
    for _ in range(count):
        end = data.rfind(b"\n", 0, end)
        if end < 0:
            return 0
    return end + 1


class _PageBuilder:
    """Collects output into runs of one stream until there is enough."""

    __slots__ = ("_at", "_chunks", "_cursor", "_gaps", "_left", "_pieces", "_run")

    def __init__(self, cursor: int, room: int) -> None:
        self._cursor = self._at = cursor
        self._left = room
        self._chunks: list[Chunk] = []
        self._gaps: list[Gap] = []
        self._pieces: list[bytes] = []
        self._run = (0, 0, 0.0)  # offset, stream and time of the pieces collected

    def take(self, block: bytes, entries: list[Entry], why: str) -> Entry | None:
        """Collect what is not before the cursor; the entry at which the page was full, or None."""
        at, left, pieces = self._at, self._left, self._pieces
        stopped = None
        for entry in entries:
            kind, stream, offset, time, begin, end = entry
            if offset > at:
                self._gap(at, offset, why)
                at = offset
            if kind == OUTPUT:
                begin += at - offset
                if begin >= end:
                    continue
                if not left:
                    stopped = entry
                    break
                if not pieces or stream != self._run[1]:
                    self._end_run()
                    self._run = at, stream, time
                if end - begin > left:
                    end, stopped = begin + left, entry
                pieces.append(block[begin:end])
                at += end - begin
                left -= end - begin
                if stopped is not None:
                    break
            elif kind == GAP:
                lost, reason = gap_said(block[begin:end])
                if offset + lost > at:
                    self._gap(at, offset + lost, reason)
                    at = offset + lost
        self._at, self._left = at, left
        return stopped

    def finish(self, end: bool) -> LogPage:
        self._end_run()
        return LogPage(self._cursor, self._at, self._chunks, self._gaps, end)

    def _gap(self, begin: int, end: int, why: str) -> None:
        self._end_run()
        self._gaps.append(Gap(begin, end - begin, why))

    def _end_run(self) -> None:
        if self._pieces:
            self._chunks.append(Chunk(*self._run, b"".join(self._pieces)))
            self._pieces.clear()
