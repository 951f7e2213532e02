"""The framed log of one session: the writer, for the process that holds it; the reader comes from `log_reader`.

Knows rotation and loss. Knows nothing of terminals, of what a payload means, or of who reads.
A cursor is an output offset; only output and gaps move it.
"""

from __future__ import annotations

import contextlib
import errno
import os

from lamplighter.holder.segments import (
    GAP,
    HEADER,
    MAX_PAYLOAD,
    NO_STREAM,
    OUTPUT,
    RESIZE,
    SIZE,
    Segment,
    blocks,
    gap_payload,
    segments,
)

LIMIT = 64 << 20
SEGMENT = 8 << 20

_HEADER_SIZE = HEADER.size
_SMALLEST_SEGMENT = 1024
# Room kept in a segment for what may have to go before a frame: a gap and a resize.
_PREFACE = 256
_VECTORS = 512
_REASONS = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "quota reached",
    errno.EFBIG: "file too large",
    errno.EIO: "input/output error",
}

Buffer = bytes | bytearray | memoryview


class LogWriter:
    """Appends frames, rolls to new segments, keeps the sum of them under a limit, and outlives a full disk.

    A failed write never raises: what it lost is counted, and said in a gap frame before the next one that succeeds.
    """

    __slots__ = (
        "_current", "_dropped", "_fd", "_folder", "_generation", "_largest", "_limit", "_lost", "_old", "_room",
        "_size", "_size_due", "_why", "_written", "offset",
    )  # fmt: skip

    def __init__(self, folder: str, limit: int = LIMIT, segment: int = SEGMENT, *, fresh: bool = False) -> None:
        self._folder = folder
        self._limit = limit
        self._room = max(_SMALLEST_SEGMENT, min(segment, limit // 2))
        self._largest = min(MAX_PAYLOAD, self._room - _HEADER_SIZE - _PREFACE)
        self._fd = -1
        self._current: Segment | None = None
        self._written = 0
        self._lost = 0
        self._dropped = 0
        self._why: str | None = None
        self._size: bytes | None = None
        self.offset = 0
        self._generation = 1
        self._old: list[tuple[Segment, int]] = []
        if not fresh:
            self._resume()
        self._size_due = self._size is not None

    @property
    def failure(self) -> str | None:
        """Why the last write failed, or None when it did not."""
        return self._why

    def append_output(self, chunks: Buffer | list[bytes], stream: int, now: float) -> bool:
        """Log output as one frame (more, when it is larger than a frame can be); True when a new segment began."""
        parts: list[Buffer] = [*chunks] if isinstance(chunks, list) else [chunks]
        length = sum(map(len, parts))
        if len(parts) > _VECTORS:
            parts = [b"".join(parts)]
        if length <= self._largest:
            return self._put(OUTPUT, stream, parts, length, now) if length else False
        rolled = False
        with memoryview(b"".join(parts)) as whole:
            for begin in range(0, length, self._largest):
                piece = whole[begin : begin + self._largest]
                rolled |= self._put(OUTPUT, stream, [piece], len(piece), now)
        return rolled

    def append(self, kind: int, stream: int, payload: bytes, now: float) -> bool:
        """Log a frame that is not output; True when a new segment began."""
        if kind in (OUTPUT, GAP):
            raise ValueError("output and gaps have their own ways in: append_output and lose")
        if len(payload) > self._largest:
            raise ValueError(f"a frame holds {self._largest} bytes, not {len(payload)}")
        if kind == RESIZE:
            self._size = payload
        return self._put(kind, stream, [payload], len(payload), now)

    def set_size(self, rows: int, cols: int) -> None:
        """The size of the terminal, to be written with the first frame: a session that prints nothing has no log yet."""
        self._size, self._size_due = SIZE.pack(rows, cols), True

    def lose(self, count: int, why: str) -> None:
        """Say that `count` bytes of output never reached the log; a gap tells it before the next frame."""
        self._lost += count
        self.offset += count
        self._why = why

    def begin_again(self) -> bool:
        """Begin a segment when the file of this one was taken away; whether it was. What was in it is lost."""
        if self._fd < 0 or self._current is None or os.path.exists(os.path.join(self._folder, self._current.name)):
            return False
        os.close(self._fd)
        self._fd = -1
        self._current = None
        self._written = 0
        self._size_due = self._size is not None
        return True

    def close(self, now: float = 0.0) -> None:
        """Say what is still to be said of losses, if the disk lets us, and close."""
        if self._fd < 0:
            return
        if self._lost or self._dropped:
            # Nothing can follow: a loss that cannot be said here shows as a jump to the next segment's start.
            with contextlib.suppress(OSError):
                self._write(self._preface(now))
        os.close(self._fd)
        self._fd = -1

    def _put(self, kind: int, stream: int, parts: list[Buffer], length: int, now: float) -> bool:
        rolled = False
        try:
            if self._fd < 0 or self._written + length + _HEADER_SIZE + _PREFACE > self._room:
                rolled = self._roll()
            frame: list[Buffer] = [HEADER.pack(kind, stream, 0, length, self.offset, now), *parts]
            if self._size_due or self._lost or self._dropped:
                frame[:0] = self._preface(now, with_size=kind != RESIZE)
            self._write(frame)
        except OSError as error:
            self._note_loss(error, kind, length)
        else:
            self._lost = self._dropped = 0
            self._size_due, self._why = False, None
        if kind == OUTPUT:
            self.offset += length
        return rolled

    def _preface(self, now: float, with_size: bool = True) -> list[Buffer]:
        """What has to go before the next frame, in the same write so that it is there with it or not at all."""
        frames: list[Buffer] = []
        if self._lost or self._dropped:
            said = gap_payload(self._lost, self._why or "unknown", self._dropped)
            frames += [HEADER.pack(GAP, NO_STREAM, 0, len(said), self.offset - self._lost, now), said]
        if with_size and self._size_due and self._size is not None:
            frames += [HEADER.pack(RESIZE, NO_STREAM, 0, len(self._size), self.offset, now), self._size]
        return frames

    def _write(self, vectors: list[Buffer]) -> None:
        total = sum(map(len, vectors))
        done = os.writev(self._fd, vectors)
        if done != total:
            self._write_rest(b"".join(vectors)[done:])
        self._written += total

    def _write_rest(self, rest: bytes) -> None:
        """Finish a short write; half a frame is worse than none, so a failure takes all of it back."""
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            try:
                os.ftruncate(self._fd, self._written)
            except OSError:
                # The torn tail stays, and nothing may come after it: the next write begins a segment.
                os.close(self._fd)
                self._fd = -1
            raise

    def _note_loss(self, error: OSError, kind: int, length: int) -> None:
        self._why = _REASONS.get(error.errno or 0) or (error.strerror or "unknown").lower()
        if kind == OUTPUT:
            self._lost += length
        elif kind == RESIZE:
            self._size_due = True
        else:
            self._dropped += 1

    def _roll(self) -> bool:
        """Begin a segment; on failure the old one stays, and the next write tries again."""
        self._make_room()
        segment, fd = self._create(self.offset - self._lost)
        previous = self._current
        if self._fd >= 0:
            os.close(self._fd)
        if previous is not None:
            self._old.append((previous, self._written))
        self._current, self._fd, self._written = segment, fd, 0
        self._size_due = self._size is not None
        return previous is not None

    def _create(self, start: int) -> tuple[Segment, int]:
        while True:
            segment = Segment(start, self._generation)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            try:
                return segment, os.open(os.path.join(self._folder, segment.name), flags, 0o600)
            except FileExistsError:
                # A segment without output has the start of the one after it: the generation tells them apart.
                self._generation += 1

    def _make_room(self) -> None:
        total = sum(size for _, size in self._old) + self._written + self._room
        while self._old and total > self._limit:
            segment, size = self._old[0]
            try:
                os.unlink(os.path.join(self._folder, segment.name))
            except FileNotFoundError:
                pass
            except OSError:
                return  # it still counts, so the next roll tries again
            del self._old[0]
            total -= size

    def _resume(self) -> None:
        """Go on after what another writer left: never in its file, never at an offset that it used."""
        found = segments(self._folder)
        self._generation = 1 + max((segment.generation for segment in found), default=0)
        self._old = [(segment, os.stat(os.path.join(self._folder, segment.name)).st_size) for segment in found]
        if found:
            self.offset = found[-1].start
        for segment in reversed(found):
            any_frame = False
            for block, entries, offset in blocks(self._folder, segment):
                any_frame, self.offset = True, max(self.offset, offset)
                sizes = [entry for entry in entries if entry[0] == RESIZE]
                if sizes:
                    self._size = block[sizes[-1][4] : sizes[-1][5]]
            if any_frame:
                break
        self._forget_keyframes()

    def _forget_keyframes(self) -> None:
        """Remove keyframes beyond the end: they are of output that was lost, and its offsets are used again."""
        if not self._generation > 1:
            return
        for name in os.listdir(self._folder):
            if name.startswith("key-") and name[4:].isdigit() and int(name[4:]) > self.offset:
                os.unlink(os.path.join(self._folder, name))
