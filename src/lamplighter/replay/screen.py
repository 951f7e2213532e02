"""A session's screen, rebuilt from its log folder and carried on as the log grows.

Knows frames, keyframes and a terminal in memory. Knows nothing of sessions, and never writes to the folder.
"""

from __future__ import annotations

from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import GAP, OUTPUT, RESIZE, SIZE, gap_said, segments
from lamplighter.replay import keyframes, redraw
from lamplighter.replay.emulator import Emulator
from lamplighter.replay.keyframes import Keyframe

# A size is a client's word; a terminal of 65535 by 65535 would be all of the memory.
_LARGEST = 2000
_MOST_REPLIES = 64 << 10
_KEYFRAME_HISTORY = 500


class Screen:
    """A terminal at some offset of the log. It begins at the newest usable keyframe, else with the oldest output kept.

    `exact` is false when output is missing from what it was built from.
    """

    def __init__(self, folder: str, rows: int = 24, cols: int = 80, scrollback: int = 1000) -> None:
        self._folder = folder
        self._usual_size = rows, cols
        self._scrollback = scrollback
        self._reader = LogReader(folder)
        self._replies = bytearray()
        self._terminal: Emulator | None = None
        self._headless = True
        self.offset: int = 0
        self.exact: bool = True

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._reader.close()
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None

    def advance_to(self, offset: int | None = None) -> int:
        """Show the log up to `offset`, or all of it; the offset reached. Going back starts again from a keyframe."""
        terminal = self._terminal_for(offset)
        for frame in self._reader.frames(self.offset):
            if frame.kind == OUTPUT:
                data = frame.payload if offset is None else frame.payload[: max(0, offset - frame.offset)]
                terminal.feed(data.replace(b"\n", b"\r\n") if self._headless else data)
                self.offset = frame.offset + len(data)
                if len(data) < len(frame.payload):
                    break  # the reader stays at this frame, for the next time
            elif frame.kind == RESIZE:
                self._resize(terminal, frame.payload)
            elif frame.kind == GAP:
                lost, _ = gap_said(frame.payload)
                if lost:
                    terminal.cancel()
                    self.exact = False
                self.offset = frame.offset + lost
        self._reader.close()
        return self.offset

    def text(self, lines: int | None = None) -> list[str]:
        """What a person would see now, or the last `lines` rows of that and what scrolled away before it.

        Without trailing blanks, in a row or below the last.
        """
        terminal = self._shown
        total = terminal.total
        first = total - terminal.rows
        seen = terminal.plain(first if lines is None else max(0, first - lines), total - 1)
        while seen and not seen[-1]:
            seen.pop()
        return seen if lines is None else seen[max(0, len(seen) - lines) :]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shown.rows, self._shown.cols

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        return self._shown.cursor

    @property
    def title(self) -> str:
        return self._shown.title

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown, as full-screen programs do."""
        return self._shown.alternate

    def mode(self, number: int) -> bool:
        """Whether a DEC private mode is set: 2004 for bracketed paste, 1 for application cursor keys."""
        return self._shown.mode(number)

    def vt(self, history: int = 0) -> bytes:
        """Bytes that make a terminal of this size, after a reset, show the same and go on in the same way.

        `history` rows that have scrolled away come before. Output from `offset` on may follow directly.
        """
        return redraw.written(self._shown, history)

    def keyframe(self) -> Keyframe:
        rows, cols = self.size
        return Keyframe(self.offset, rows, cols, self.vt(_KEYFRAME_HISTORY), self.exact, self._headless)

    def replies(self) -> bytes:
        """What a terminal would have answered to queries in the output shown since this was last asked."""
        said = bytes(self._replies)
        self._replies.clear()
        return said

    @property
    def _shown(self) -> Emulator:
        return self._terminal if self._terminal is not None else self._begin(None)

    def _terminal_for(self, offset: int | None) -> Emulator:
        """Ours, unless it is past `offset`, or what it needs next is gone and a keyframe may bridge that."""
        backwards = offset is not None and offset < self.offset
        if self._terminal is None or backwards or self.offset < log_start(self._folder):
            return self._begin(offset)
        return self._terminal

    def _begin(self, offset: int | None) -> Emulator:
        if self._terminal is not None:
            self._terminal.close()
        self._replies.clear()
        keyframe = keyframes.newest(self._folder, offset, log_start(self._folder))
        # Without a keyframe we ask from 0 on: what was rotated away then comes as a gap, and we are not exact.
        rows, cols = (keyframe.rows, keyframe.cols) if keyframe else self._usual_size
        terminal = self._terminal = Emulator(_sane(rows), _sane(cols), self._scrollback)
        self.offset, self.exact, self._headless = 0, True, True
        if keyframe is not None:
            terminal.feed(keyframe.vt)
            self.offset, self.exact, self._headless = keyframe.offset, keyframe.exact, keyframe.headless
        terminal.on_reply(self._keep_reply)
        return terminal

    def _resize(self, terminal: Emulator, payload: bytes) -> None:
        if len(payload) != SIZE.size:
            return
        rows, cols = map(_sane, SIZE.unpack(payload))
        self._headless = False
        # Every segment repeats the size, and a terminal may do something even when it stays the same.
        if (rows, cols) != (terminal.rows, terminal.cols):
            terminal.resize(rows, cols)

    def _keep_reply(self, reply: bytes) -> None:
        if len(self._replies) + len(reply) <= _MOST_REPLIES:
            self._replies += reply


def _sane(length: int) -> int:
    return min(max(length, 1), _LARGEST)


def log_start(folder: str) -> int:
    """The offset of the oldest output that is kept."""
    found = segments(folder)
    return found[0].start if found else 0
